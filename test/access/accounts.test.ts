import { sql } from 'kysely';
import { Secret, TOTP } from 'otpauth';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { jsonRoute, streamRoute } from '../../src/console/api/route.ts';
import type { Area } from '../../src/console/area.ts';
import { revokeAccessToken } from '../../src/store/access/access-tokens.ts';
import {
  addAccount,
  changeAccount,
  disableAccount,
  type NewAccount,
} from '../../src/store/access/accounts.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { addWithToken, hashCheaply, tokenOf } from '../support/accounts.ts';
import { ONE_PAGE, startAdmin, type RunningAdmin } from '../support/admin.ts';
import { ask, cookieOf, formOf, type Answer } from '../support/ask.ts';
import { useDatabase } from '../support/use-database.ts';

const TOKEN = 'the-admin-token-0123456789';
const PASSWORD = 'correct horse battery staple';
const HOUR_MS = 3_600_000;

/** A page, a question of who asks, and a stream that ends only with its signal. */
const area: Area = {
  ...ONE_PAGE,
  routes: [
    jsonRoute({
      route: 'GET /me',
      summary: 'a question',
      needs: 'view',
      data: 'by source',
      answer: z.object({ by: z.string(), via: z.string(), scope: z.unknown() }),
      work: async (_asked, { operator, scope }) => ({ by: operator.name, via: operator.via, scope }),
    }),
    streamRoute({
      route: 'GET /stream',
      summary: 'a stream',
      needs: 'view',
      data: 'by source',
      mediaTypes: { 'text/event-stream': '' },
      work: async (_asked, { signal }, response) => {
        response.type('text/event-stream').write('begun\n');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        response.end();
      },
    }),
  ],
};

const hash = hashCheaply(PASSWORD);
const database = useDatabase();
let admin: RunningAdmin;
let other: RunningAdmin;
let lines: string[];
beforeEach(async () => {
  await database.query`truncate accounts, sessions, access_tokens`;
  lines = [];
  admin = await start(TOKEN);
  other = await start(TOKEN);
});
afterEach(async () => {
  vi.useRealTimers();
  await admin.close();
  await other.close();
});

/** A console process; several share the database. */
const start = (token: string | undefined, db = database.db) =>
  startAdmin([area], db, {
    token,
    logRefusal: ({ status }, message) => void lines.push(`${status} ${message}`),
    logger: pino({ level: 'trace' }, { write: (line) => void lines.push(line) }),
  });

/** Another process takes the place of the second one. */
async function restart(token = TOKEN): Promise<void> {
  await other.close();
  other = await start(token);
}

const add = (account: Partial<NewAccount> = {}) =>
  addAccount(database.db, { name: 'ada', role: 'viewer', password_hash: hash, ...account });

function logIn(fields: Record<string, string> = {}, to = admin, cookie = ''): Promise<Answer> {
  const question = formOf({ name: 'ada', password: PASSWORD, ...fields });
  return ask(to.url, { ...question, headers: { ...question.headers, Cookie: cookie } });
}

const me = (headers: Record<string, string>, to = admin) => ask(to.url, { path: '/api/v1/me', headers });
const statusOf = async (headers: Record<string, string>, to = admin) => (await me(headers, to)).status;
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const logOut = (headers: Record<string, string>, to = admin) =>
  ask(to.url, { method: 'POST', path: '/logout', headers });
const logInPage = async (to = admin) =>
  (await ask(to.url, { path: '/login', headers: { Accept: 'text/html' } })).text;
const readSessions = () => database.db.selectFrom('sessions').selectAll().execute();

/** A database that cannot be reached, and a console over it. */
async function withoutDatabase(token: string | undefined, work: (cut: RunningAdmin) => Promise<void>) {
  const away = openDatabase('postgres://nobody:x@127.0.0.1:1/none', () => undefined);
  const cut = await start(token, away);
  try {
    await work(cut);
  } finally {
    await cut.close();
    await away.destroy();
  }
}

describe('a log-in with name and password', () => {
  it('names the account in answers and in the operator log, however its name was typed', async () => {
    await add({ name: 'Ada', sources: ['branch'] });
    const Cookie = cookieOf(await logIn({ name: 'ADA' }));
    expect(JSON.parse((await me({ Cookie })).text)).toEqual({ by: 'Ada', via: 'console', scope: ['branch'] });
    expect(await listActions(database.db, { limit: 1 })).toMatchObject([
      { operator: 'Ada', via: 'console', action: 'console.login' },
    ]);
    const page = await ask(admin.url, { path: '/page', headers: { Cookie, Accept: 'text/html' } });
    expect(page.text).toContain('Role: viewer');
  });

  it('is refused with one answer, whatever is wrong', async () => {
    await add();
    await add({ name: 'gone' });
    await disableAccount(database.db, 'gone');
    await add({ name: 'program', password_hash: null });
    const wrong = [
      { password: 'wrong' },
      { password: `${PASSWORD} ` },
      { name: 'nobody' },
      { name: 'gone' },
      { name: 'program' },
      { name: 'a\u0000b' },
    ];
    const answers = await Promise.all(wrong.map((fields) => logIn(fields)));
    const shown = answers.map(({ status, text, headers }, index) => ({
      status,
      cookies: headers['set-cookie'],
      text: text.replace(`value="${wrong[index]?.name ?? 'ada'}"`, ''),
    }));
    expect(new Set(shown.slice(0, 5).map((one) => JSON.stringify(one))).size).toBe(1);
    expect(shown.every(({ status, cookies }) => status === 401 && cookies === undefined)).toBe(true);
    expect(await readSessions()).toEqual([]);
    expect(lines.filter((line) => line.startsWith('401'))).toHaveLength(wrong.length);
    expect(lines.join('')).not.toContain(PASSWORD);
  });

  it('that fails is in the operator log, with the account if it exists and never with what was entered', async () => {
    await add();
    await logIn({ password: 'wrong' });
    await logIn({ name: PASSWORD });
    const actions = await listActions(database.db, { limit: 2 });
    const failed = { operator: 'not logged in', action: 'console.login', outcome: 'failed' };
    const details = { remote: expect.stringContaining('127.0.0.1') as unknown };
    expect(actions).toMatchObject([
      { ...failed, details, subject: null },
      { ...failed, details, subject: 'ada' },
    ]);
    expect(JSON.stringify(actions)).not.toContain(PASSWORD);
  });

  it('needs the one-time code of an account that has one, and each code counts once', async () => {
    const secret = new Secret({ size: 20 });
    await add({ totp_secret: secret.base32 });
    const code = new TOTP({ secret, digits: 6, period: 30 }).generate();
    expect((await logIn()).status).toBe(401);
    expect((await logIn({ code: '000000' === code ? '111111' : '000000' })).status).toBe(401);
    // A code is used up only with the right password.
    expect((await logIn({ code, password: 'wrong' })).status).toBe(401);
    const both = await Promise.all([logIn({ code }), logIn({ code }, other)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 401]);
    expect((await logIn({ code })).status).toBe(401);
  });

  it('cannot start a session that a change of the account has overtaken', async () => {
    await add();
    const started = logIn();
    await changeAccount(database.db, 'ada', { passwordHash: hashCheaply('another password') });
    const answer = await started;
    const Cookie = cookieOf(answer);
    expect(Cookie === '' ? answer.status : await statusOf({ Cookie })).toBe(401);
  });
});

describe('a session', () => {
  it.each([{ token: TOKEN }, { name: 'ada', password: PASSWORD }])(
    'is known to every process and after a restart, until the log-out ends it for all: %j',
    async (fields) => {
      await add();
      const Cookie = cookieOf(await ask(admin.url, formOf(fields)));
      expect(await statusOf({ Cookie }, other)).toBe(200);
      await restart();
      expect(await statusOf({ Cookie }, other)).toBe(200);
      expect((await logOut({ Cookie })).status).toBe(303);
      expect([await statusOf({ Cookie }), await statusOf({ Cookie }, other)]).toEqual([401, 401]);
      await restart();
      expect(await statusOf({ Cookie }, other)).toBe(401);
    },
  );

  it.each([{ token: TOKEN }, { name: 'ada', password: PASSWORD }])(
    'ends after 12 hours, and the next log-in removes it: %j',
    async (fields) => {
      await add();
      const Cookie = cookieOf(await ask(admin.url, formOf(fields)));
      const [session] = await readSessions();
      expect(Math.abs((session?.expires_at.getTime() ?? 0) - Date.now() - 12 * HOUR_MS)).toBeLessThan(60_000);
      const expireIn = (seconds: number) =>
        database.db
          .updateTable('sessions')
          .set({ expires_at: sql<Date>`now() + make_interval(secs => ${seconds})` })
          .execute();
      await expireIn(60);
      expect(await statusOf({ Cookie })).toBe(200);
      await expireIn(0);
      expect(await statusOf({ Cookie })).toBe(401);
      await ask(admin.url, formOf(fields));
      expect(await readSessions()).toHaveLength(1);
    },
  );

  it('ends when its account is disabled or changed; others go on', async () => {
    await add();
    await add({ name: 'grace' });
    const [ada, grace] = [cookieOf(await logIn()), cookieOf(await logIn({ name: 'grace' }))];
    await changeAccount(database.db, 'ada', { role: 'admin' });
    expect(await statusOf({ Cookie: ada })).toBe(401);
    const again = cookieOf(await logIn());
    await disableAccount(database.db, 'ada');
    expect(await statusOf({ Cookie: again })).toBe(401);
    expect(await statusOf({ Cookie: grace })).toBe(200);
    await logOut({ Cookie: again });
    expect(await statusOf({ Cookie: grace })).toBe(200);
  });

  it('is stored as a digest: what is in the database is no cookie', async () => {
    await add();
    const [, value = ''] = cookieOf(await logIn()).split('=');
    const stored = (await readSessions())[0]?.digest.toString('base64url') ?? '';
    expect(stored).not.toBe(value);
    expect(await statusOf({ Cookie: `xiq_sink_session=${stored}` })).toBe(401);
  });

  it('of the admin token is nothing without that token', async () => {
    const Cookie = cookieOf(await ask(admin.url, formOf({ token: TOKEN })));
    await restart('another-admin-token-0123456789');
    expect([await statusOf({ Cookie }, other), await statusOf({ Cookie })]).toEqual([401, 200]);
  });

  it('is neither ended nor accepted while the database is away; the admin token works', async () => {
    await add();
    const Cookie = cookieOf(await logIn());
    const token = await tokenOf(database.db, 'ada');
    await withoutDatabase(TOKEN, async (cut) => {
      for (const headers of [{ Cookie }, bearer(token)]) {
        expect(await me(headers, cut)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
      }
      const out = await logOut({ Cookie }, cut);
      expect([out.status, out.headers['set-cookie']]).toEqual([503, undefined]);
      expect(await statusOf(bearer(TOKEN), cut)).toBe(200);
    });
    expect(await statusOf({ Cookie })).toBe(200);
  });
});

describe('an API token', () => {
  it('has role, sources and name of its account, and its use is stored', async () => {
    const token = await addWithToken(database.db, { name: 'grafana', role: 'viewer', sources: ['branch'] });
    expect(token).toMatch(/^xiq_/);
    expect(JSON.parse((await me(bearer(token))).text)).toEqual({
      by: 'grafana',
      via: 'api',
      scope: ['branch'],
    });
    const usedAt = async () =>
      (await database.db.selectFrom('access_tokens').select('last_used_at').executeTakeFirst())?.last_used_at;
    const first = await usedAt();
    expect(first).toBeInstanceOf(Date);
    await me(bearer(token));
    expect(await usedAt()).toEqual(first);
    await database.query`update access_tokens set last_used_at = now() - interval '61 seconds'`;
    await me(bearer(token));
    expect((await usedAt())?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? 0);
  });

  it('is no longer accepted after its end, when it is revoked, or when its account is disabled', async () => {
    await add();
    const ends = [new Date(), undefined, undefined];
    const tokens: string[] = [];
    for (const end of ends) tokens.push(await tokenOf(database.db, 'ada', end));
    const statuses = () => Promise.all(tokens.map((token) => statusOf(bearer(token))));
    expect(await statuses()).toEqual([401, 200, 200]);
    const rows = await database.query<{ id: string }>`select id from access_tokens order by id`;
    await revokeAccessToken(database.db, rows[1]?.id ?? '');
    expect(await statuses()).toEqual([401, 401, 200]);
    await disableAccount(database.db, 'ada');
    expect(await statuses()).toEqual([401, 401, 401]);
    await changeAccount(database.db, 'ada', { isEnabled: true });
    expect(await statuses()).toEqual([401, 401, 401]);
  });

  it('works for /metrics if its account may see all sources', async () => {
    const all = await addWithToken(database.db, { name: 'prometheus', role: 'viewer' });
    const some = await addWithToken(database.db, { name: 'branch', role: 'admin', sources: ['branch'] });
    const metrics = async (token: string) =>
      (await ask(admin.url, { path: '/metrics', headers: bearer(token) })).status;
    expect([await metrics(all), await metrics(some)]).toEqual([200, 403]);
  });
});

describe('a stream', () => {
  it.each([
    ['its session ends', () => database.db.deleteFrom('sessions').execute()],
    ['its account is marked as disabled', () => database.query`update accounts set disabled_at = now()`],
    ['its sources change', () => database.query`update accounts set sources = '{branch}'`],
    ['the session expires', () => database.query`update sessions set expires_at = now()`],
  ])('goes on while it has access, and ends when %s', async (_name, end) => {
    await add();
    const Cookie = cookieOf(await logIn());
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const response = await fetch(`${admin.url}/api/v1/stream`, { headers: { Cookie } });
    let isOver = false;
    const whole = response.text().then(() => (isOver = true));
    for (let check = 0; check < 2; check += 1) {
      vi.advanceTimersByTime(2_000);
      expect(await statusOf({ Cookie })).toBe(200);
    }
    expect(isOver).toBe(false);
    await end();
    vi.advanceTimersByTime(2_000);
    await whole;
  });
});

describe('without ADMIN_TOKEN', () => {
  it('everyone on this machine is admin until the first account exists, then log-in is required', async () => {
    await other.close();
    other = await start(undefined);
    expect(JSON.parse((await me({}, other)).text)).toMatchObject({ by: 'local user', scope: 'all' });
    await add();
    expect([await statusOf({}, other), await statusOf(bearer(TOKEN), other)]).toEqual([401, 401]);
    const page = await logInPage(other);
    expect([page.includes('name="password"'), page.includes('name="token"')]).toEqual([true, false]);
    const Cookie = cookieOf(await logIn({}, other));
    expect(JSON.parse((await me({ Cookie }, other)).text)).toMatchObject({ by: 'ada', via: 'console' });
    await disableAccount(database.db, 'ada');
    expect(await statusOf({}, other)).toBe(401);
    await other.close();
    other = await start(undefined);
    expect(await statusOf({}, other)).toBe(401);
  });

  it('nobody is admin while the database cannot say whether there are accounts', async () => {
    await withoutDatabase(undefined, async (cut) => {
      expect(await statusOf({}, cut)).toBe(503);
      // Which Prometheus needs most then, and which show no event.
      expect((await ask(cut.url, { path: '/metrics' })).status).toBe(200);
    });
  });
});

it('the log-in page asks for the token before there are accounts, and for either afterwards', async () => {
  const before = await logInPage();
  expect([before.includes('name="token"'), before.includes('name="password"')]).toEqual([true, false]);
  await add();
  const after = await logInPage();
  expect([after.includes('name="token"'), after.includes('name="password"')]).toEqual([true, true]);
});

describe('guessing passwords', () => {
  const proofOf = ({ headers }: Answer) =>
    headers['set-cookie']?.find((cookie) => cookie.startsWith('xiq_sink_known='))?.split(';')[0] ?? '';

  const guess = async (count: number, cookie = '') => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 1)
      statuses.push((await logIn({ password: `wrong ${n}` }, admin, cookie)).status);
    return statuses;
  };

  it('stops after 20 wrong ones of an address in a minute, the right one included; a known browser goes on', async () => {
    await add();
    // Right ones do not count.
    for (let n = 0; n < 21; n += 1) expect((await logIn()).status).toBe(303);
    const known = proofOf(await logIn());
    expect(known).toMatch(/^xiq_sink_known=.{43}$/);
    expect(await guess(22)).toEqual([...Array<number>(20).fill(401), 429, 429]);
    expect((await logIn()).status).toBe(429);
    expect((await logIn({}, admin, known)).status).toBe(303);
    expect((await logIn({}, admin, `${known.slice(0, -1)}_`)).status).toBe(429);
    expect(await statusOf(bearer(await tokenOf(database.db, 'ada')))).toBe(200);
    expect((await ask(admin.url, formOf({ token: TOKEN }))).status).toBe(303);
  });

  it('through a trusted proxy is counted by the address that it names, whatever the sender puts before', async () => {
    await other.close();
    other = await startAdmin([area], database.db, { trustedProxies: ['loopback'] });
    await add();
    await add({ name: 'grace' });
    const through = (forwarded: string, fields: Record<string, string>) => {
      const question = formOf({ name: 'ada', password: PASSWORD, ...fields });
      return ask(other.url, { ...question, headers: { ...question.headers, 'X-Forwarded-For': forwarded } });
    };
    for (let n = 0; n < 20; n += 1) {
      expect((await through(`198.51.100.${n}, 192.0.2.1`, { password: 'wrong' })).status).toBe(401);
    }
    expect((await through('192.0.2.1', {})).status).toBe(429);
    expect((await through('192.0.2.2', { name: 'grace' })).status).toBe(303);
    const actions = await listActions(database.db, { limit: 3 });
    expect(actions.at(-1)).toMatchObject({ outcome: 'failed', details: { remote: '192.0.2.1' } });
  });

  it('with a stolen proof of a known browser stops, too, and the proof ends with the password', async () => {
    await add();
    const known = proofOf(await logIn());
    expect(await guess(21, known)).toEqual([...Array<number>(20).fill(401), 429]);
    await changeAccount(database.db, 'ada', { passwordHash: hashCheaply('a new password') });
    // The browser counts as unknown, and as its address is new here, it may try.
    expect((await logIn({ password: 'a new password' }, admin, known)).status).toBe(303);
  });
});
