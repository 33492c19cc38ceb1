import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonRoute, streamRoute } from '../../../src/console/api/route.ts';
import type { Area } from '../../../src/console/area.ts';
import { revokeAccessToken } from '../../../src/store/access-tokens.ts';
import { addAccount, changeAccount, disableAccount, findAccount } from '../../../src/store/accounts.ts';
import type { NewAccount } from '../../../src/store/accounts.ts';
import { openDatabase } from '../../../src/store/database.ts';
import { listActions } from '../../../src/store/operator-log.ts';
import { Secret, TOTP } from 'otpauth';
import { addWithToken, hashCheaply, tokenOf } from '../../support/accounts.ts';
import { ONE_PAGE, startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { ask, cookieOf, formOf } from '../../support/ask.ts';
import type { Answer } from '../../support/ask.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';

const TOKEN = 'the-admin-token-0123456789';
const PASSWORD = 'correct horse battery staple';

/** A page, a change by an operator, and a stream that ends only with its signal. */
const area: Area = {
  ...ONE_PAGE,
  routes: [
    jsonRoute({
      route: 'GET /me',
      summary: 'a question',
      needs: 'view',
      data: 'by source',
      asks: z.object({}),
      answer: z.object({ by: z.string(), via: z.string(), scope: z.unknown() }),
      work: async (_asked, { operator, scope }) => ({ by: operator.name, via: operator.via, scope }),
    }),
    streamRoute({
      route: 'GET /stream',
      summary: 'a stream',
      needs: 'view',
      data: 'by source',
      asks: z.object({}),
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
let database: TestDatabase;
let admin: RunningAdmin;
let other: RunningAdmin;
let lines: string[];
beforeEach(async () => {
  database = await createTestDatabase();
  lines = [];
  admin = await start();
  other = await start();
});
afterEach(async () => {
  await admin.close();
  await other.close();
  await database.drop();
});

/** A console process; several share the database. */
const start = (token: string | undefined = TOKEN) =>
  startAdmin([area], database.db, {
    token,
    logRefusal: ({ status }, message) => void lines.push(`${status} ${message}`),
    logger: pino({ level: 'trace' }, { write: (line) => void lines.push(line) }),
  });

const add = (account: Partial<NewAccount> = {}) =>
  addAccount(database.db, { name: 'ada', role: 'viewer', passwordHash: hash, ...account });

const logIn = (fields: Record<string, string> = {}, to = admin, cookie = '') => {
  const question = formOf({ name: 'ada', password: PASSWORD, ...fields });
  return ask(to.url, {
    ...question,
    headers: { ...question.headers, ...(cookie !== '' && { Cookie: cookie }) },
  });
};

const me = (headers: Record<string, string>, to = admin) => ask(to.url, { path: '/api/v1/me', headers });
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const cookieNamed = ({ headers }: Answer, name: string) =>
  (headers['set-cookie'] ?? []).find((cookie) => cookie.startsWith(`${name}=`))?.split(';')[0] ?? '';

describe('a log-in with name and password', () => {
  it('names the account in answers and in the operator log, however its name was typed', async () => {
    await add({ name: 'Ada', sources: ['branch'] });
    const Cookie = cookieOf(await logIn({ name: 'ADA' }));
    expect(JSON.parse((await me({ Cookie })).text)).toEqual({ by: 'Ada', via: 'console', scope: ['branch'] });
    expect(await listActions(database.db, { limit: 1 })).toMatchObject([
      { operator: 'Ada', via: 'console', action: 'console.login' },
    ]);
    expect(
      (await ask(admin.url, { path: '/page', headers: { Cookie, Accept: 'text/html' } })).text,
    ).toContain('Role: viewer');
  });

  it('is refused with one answer, whatever is wrong', async () => {
    await add();
    await add({ name: 'gone' });
    await disableAccount(database.db, 'gone');
    await add({ name: 'program', passwordHash: undefined });
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
    expect(lines.filter((line) => line.startsWith('401'))).toEqual(
      Array<string>(6).fill('401 console: wrong name or password'),
    );
    expect(lines.join('')).not.toContain(PASSWORD);
  });

  it('that fails is in the operator log, with the account if it exists and never with what was entered', async () => {
    await add();
    await logIn({ password: 'wrong' });
    await logIn({ name: PASSWORD });
    const actions = await listActions(database.db, { limit: 2 });
    expect(actions).toMatchObject([
      { operator: 'not logged in', action: 'console.login', outcome: 'failed', subject: null },
      { operator: 'not logged in', action: 'console.login', outcome: 'failed', subject: 'ada' },
    ]);
    expect(actions.map(({ details }) => details['remote'])).toEqual([
      expect.stringContaining('127.0.0.1'),
      expect.stringContaining('127.0.0.1'),
    ]);
    expect(JSON.stringify(actions)).not.toContain(PASSWORD);
  });

  it('needs the one-time code of an account that has one, and each code counts once', async () => {
    const secret = new Secret({ size: 20 });
    await add({ totpSecret: secret.base32 });
    const code = new TOTP({ secret, digits: 6, period: 30 }).generate();
    expect((await logIn()).status).toBe(401);
    expect((await logIn({ code: '000000' === code ? '111111' : '000000' })).status).toBe(401);
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
    const { status } = Cookie === '' ? answer : await me({ Cookie });
    expect(status).toBe(401);
  });
});

describe('a session', () => {
  it('is known to every process, and after a restart', async () => {
    await add();
    const Cookie = cookieOf(await logIn());
    expect((await me({ Cookie }, other)).status).toBe(200);
    await other.close();
    other = await start();
    expect((await me({ Cookie }, other)).status).toBe(200);
  });

  it.each([{ token: TOKEN }, { name: 'ada', password: PASSWORD }])(
    'ends in every process with a log-out, and stays ended after a restart: %j',
    async (fields) => {
      await add();
      const Cookie = cookieOf(await ask(admin.url, formOf(fields)));
      expect((await me({ Cookie }, other)).status).toBe(200);
      expect((await ask(admin.url, { method: 'POST', path: '/logout', headers: { Cookie } })).status).toBe(
        303,
      );
      expect((await me({ Cookie })).status).toBe(401);
      expect((await me({ Cookie }, other)).status).toBe(401);
      await other.close();
      other = await start();
      expect((await me({ Cookie }, other)).status).toBe(401);
    },
  );

  it('ends after 12 hours', async () => {
    await add();
    const Cookie = cookieOf(await logIn());
    const { expires_at: end } = await database.db
      .selectFrom('sessions')
      .selectAll()
      .executeTakeFirstOrThrow();
    expect(Math.abs(end.getTime() - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    await database.db.updateTable('sessions').set({ expires_at: new Date() }).execute();
    expect((await me({ Cookie })).status).toBe(401);
    // The next log-in removes it.
    await logIn();
    expect(await database.db.selectFrom('sessions').select('digest').execute()).toHaveLength(1);
  });

  it('ends when its account is disabled or changed; others go on', async () => {
    await add();
    await add({ name: 'grace' });
    const [ada, grace] = [cookieOf(await logIn()), cookieOf(await logIn({ name: 'grace' }))];
    await changeAccount(database.db, 'ada', { role: 'admin' });
    expect((await me({ Cookie: ada })).status).toBe(401);
    const again = cookieOf(await logIn());
    await disableAccount(database.db, 'ada');
    expect((await me({ Cookie: again })).status).toBe(401);
    expect((await me({ Cookie: grace })).status).toBe(200);
  });

  it('is stored as a digest: what is in the database is no cookie', async () => {
    await add();
    const [, value = ''] = cookieOf(await logIn()).split('=');
    const { digest } = await database.db.selectFrom('sessions').select('digest').executeTakeFirstOrThrow();
    expect(digest.toString('base64url')).not.toBe(value);
    const Cookie = `xiq_sink_session=${digest.toString('base64url')}`;
    expect((await me({ Cookie })).status).toBe(401);
  });

  it('of the admin token is nothing without that token', async () => {
    const Cookie = cookieOf(await ask(admin.url, formOf({ token: TOKEN })));
    await other.close();
    other = await start('another-admin-token-0123456789');
    expect((await me({ Cookie }, other)).status).toBe(401);
    expect((await me({ Cookie })).status).toBe(200);
  });

  it('is neither ended nor accepted while the database is away; the admin token works', async () => {
    await add();
    const Cookie = cookieOf(await logIn());
    const token = await tokenOf(database.db, 'ada');
    const away = openDatabase('postgres://nobody:x@127.0.0.1:1/none', () => undefined);
    const cut = await startAdmin([area], away, { token: TOKEN });
    for (const headers of [{ Cookie }, bearer(token)]) {
      expect(await me(headers, cut)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    }
    const out = await ask(cut.url, { method: 'POST', path: '/logout', headers: { Cookie } });
    expect([out.status, out.headers['set-cookie']]).toEqual([503, undefined]);
    expect((await me(bearer(TOKEN), cut)).status).toBe(200);
    expect((await me({ Cookie })).status).toBe(200);
    await cut.close();
    await away.destroy();
  });
});

describe('an API token', () => {
  it('has role, sources and name of its account', async () => {
    const token = await addWithToken(database.db, { name: 'grafana', role: 'viewer', sources: ['branch'] });
    expect(token).toMatch(/^xiq_/);
    expect(JSON.parse((await me(bearer(token))).text)).toEqual({
      by: 'grafana',
      via: 'api',
      scope: ['branch'],
    });
    const { last_used_at: used } = await database.db
      .selectFrom('access_tokens')
      .select('last_used_at')
      .executeTakeFirstOrThrow();
    expect(used).not.toBeNull();
  });

  it('is no longer accepted after its end, when it is revoked, or when its account is disabled', async () => {
    await add();
    const ended = await tokenOf(database.db, 'ada', new Date());
    const [revoked, ofDisabled] = [await tokenOf(database.db, 'ada'), await tokenOf(database.db, 'ada')];
    const statuses = async () =>
      Promise.all([ended, revoked, ofDisabled].map(async (token) => (await me(bearer(token))).status));
    expect(await statuses()).toEqual([401, 200, 200]);
    await revokeAccessToken(database.db, '2');
    expect(await statuses()).toEqual([401, 401, 200]);
    await disableAccount(database.db, 'ada');
    expect(await statuses()).toEqual([401, 401, 401]);
    await changeAccount(database.db, 'ada', { isEnabled: true });
    expect(await statuses()).toEqual([401, 401, 401]);
  });

  it('works for /metrics if its account may see all sources', async () => {
    const all = await addWithToken(database.db, { name: 'prometheus', role: 'viewer' });
    const some = await addWithToken(database.db, { name: 'branch', role: 'admin', sources: ['branch'] });
    const statusOf = async (token: string) =>
      (await ask(admin.url, { path: '/metrics', headers: bearer(token) })).status;
    expect([await statusOf(all), await statusOf(some)]).toEqual([200, 403]);
  });
});

describe('a stream', () => {
  it.each([
    ['its session ends', async () => void (await database.db.deleteFrom('sessions').execute())],
    ['its account is disabled', () => disableAccount(database.db, 'ada')],
    ['its sources change', () => changeAccount(database.db, 'ada', { sources: ['branch'] })],
  ])('ends within seconds when %s', async (_name, end) => {
    await add();
    const Cookie = cookieOf(await logIn());
    const response = await fetch(`${admin.url}/api/v1/stream`, { headers: { Cookie } });
    let isOver = false;
    const whole = response.text().then(() => (isOver = true));
    expect((await me({ Cookie })).status).toBe(200);
    expect(isOver).toBe(false);
    const began = performance.now();
    await end();
    await whole;
    expect(performance.now() - began).toBeLessThan(8_000);
  });

  it('goes on with access, and ends when a token expires', async () => {
    await add();
    const response = await fetch(`${admin.url}/api/v1/stream`, {
      headers: bearer(await tokenOf(database.db, 'ada', new Date(Date.now() + 4_000))),
    });
    const began = performance.now();
    await response.text();
    expect(performance.now() - began).toBeGreaterThan(2_500);
  });
});

describe('without ADMIN_TOKEN', () => {
  it('everyone on this machine is admin until the first account exists, then log-in is required', async () => {
    await other.close();
    // `start` would set the token of its default.
    other = await startAdmin([area], database.db);
    expect(JSON.parse((await me({}, other)).text)).toMatchObject({ by: 'local user', scope: 'all' });
    await add();
    expect((await me({}, other)).status).toBe(401);
    expect((await me(bearer(TOKEN), other)).status).toBe(401);
    const page = await ask(other.url, { path: '/login', headers: { Accept: 'text/html' } });
    expect([page.text.includes('name="password"'), page.text.includes('name="token"')]).toEqual([
      true,
      false,
    ]);
    const Cookie = cookieOf(await logIn({}, other));
    expect(JSON.parse((await me({ Cookie }, other)).text)).toMatchObject({ by: 'ada', via: 'console' });
    await disableAccount(database.db, 'ada');
    expect((await me({}, other)).status).toBe(401);
    await other.close();
    other = await startAdmin([area], database.db);
    expect((await me({}, other)).status).toBe(401);
  });

  it('nobody is admin while the database cannot say whether there are accounts', async () => {
    const away = openDatabase('postgres://nobody:x@127.0.0.1:1/none', () => undefined);
    const cut = await startAdmin([area], away);
    expect((await me({}, cut)).status).toBe(503);
    // Which Prometheus needs most then, and which show no event.
    expect((await ask(cut.url, { path: '/metrics' })).status).toBe(200);
    await cut.close();
    await away.destroy();
  });
});

describe('the log-in page', () => {
  const form = async () => (await ask(admin.url, { path: '/login', headers: { Accept: 'text/html' } })).text;

  it('asks for the token before there are accounts, and for either afterwards', async () => {
    const before = await form();
    expect([before.includes('name="token"'), before.includes('name="password"')]).toEqual([true, false]);
    await add();
    const after = await form();
    expect([after.includes('name="token"'), after.includes('name="password"')]).toEqual([true, true]);
  });
});

describe('guessing passwords', () => {
  const guess = async (count: number, fields: Record<string, string> = {}) => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 1)
      statuses.push((await logIn({ password: `wrong ${n}`, ...fields })).status);
    return statuses;
  };

  it('stops after 20 wrong ones of an address in a minute, the right one included; a known browser goes on', async () => {
    await add();
    const known = cookieNamed(await logIn(), 'xiq_sink_known');
    expect(known).toMatch(/^xiq_sink_known=.{43}$/);
    expect(await guess(22)).toEqual([...Array<number>(20).fill(401), 429, 429]);
    expect(await logIn()).toMatchObject({ status: 429 });
    expect((await logIn({}, admin, known)).status).toBe(303);
    expect((await logIn({}, admin, `${known.slice(0, -1)}_`)).status).toBe(429);
    const token = await tokenOf(database.db, 'ada');
    expect((await me(bearer(token))).status).toBe(200);
    expect((await ask(admin.url, formOf({ token: TOKEN }))).status).toBe(303);
  });

  it('does not count right ones', async () => {
    await add();
    for (let n = 0; n < 25; n += 1) expect((await logIn()).status).toBe(303);
  });

  it('with a stolen proof of a known browser stops, too', async () => {
    await add();
    const known = cookieNamed(await logIn(), 'xiq_sink_known');
    const statuses: number[] = [];
    for (let n = 0; n < 21; n += 1) statuses.push((await logIn({ password: 'wrong' }, admin, known)).status);
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429]);
    await changeAccount(database.db, 'ada', { passwordHash: hashCheaply('a new password') });
    await waitFor(async () => (await findAccount(database.db, 'ada'))?.password_hash !== hash);
    // The proof ended with the password: the browser counts as unknown, and as its address is new here, it may try.
    expect((await logIn({ password: 'a new password' }, admin, known)).status).toBe(303);
  });
});
