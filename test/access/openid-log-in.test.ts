import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonRoute } from '../../src/console/api/route.ts';
import type { Area } from '../../src/console/area.ts';
import type { OpenIdConfig } from '../../src/config/config.ts';
import { addAccount, disableAccount, listAccounts } from '../../src/store/access/accounts.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { ONE_PAGE, startAdmin, type RunningAdmin } from '../support/admin.ts';
import { createCookieJar, type CookieJar } from '../support/cookie-jar.ts';
import { useDatabase } from '../support/use-database.ts';
import { freePort } from '../support/free-port.ts';
import {
  logInAtProvider,
  openIdConfig,
  startOpenIdProvider,
  type RunningProvider,
} from '../support/openid-provider.ts';

const TOKEN = 'the-admin-token-0123456789';

/** What the provider says of each person; a test may change it. */
const people: Record<string, Record<string, unknown>> = {};

/** A page for everyone, and a change for operators, which answers with who made it. */
const area: Area = {
  ...ONE_PAGE,
  routes: [
    jsonRoute({
      route: 'GET /me',
      summary: 'get who asks',
      needs: 'quarantine.change',
      data: 'by source',
      answer: z.object({ name: z.string(), via: z.string() }),
      work: async (_asked, { operator }) => operator,
    }),
  ],
};

const database = useDatabase();
let provider: RunningProvider;
let admin: RunningAdmin;
let config: OpenIdConfig;
beforeAll(async () => {
  const port = await freePort();
  const consoleUrl = `http://127.0.0.1:${port}`;
  provider = await startOpenIdProvider({ redirectUri: `${consoleUrl}/login/openid/callback`, people });
  config = openIdConfig(provider, consoleUrl);
  admin = await startAdmin([area], database.db, {
    port,
    console: { db: database.db, areas: [area], openId: config },
  });
});
afterAll(async () => {
  await admin.close();
  await provider.close();
});
beforeEach(async () => {
  await database.query`truncate accounts, sessions, access_tokens`;
  for (const subject of Object.keys(people)) delete people[subject];
  Object.assign(people, {
    'sub-ada': { preferred_username: 'ada', groups: ['netops'] },
    'sub-other-ada': { preferred_username: 'Ada', groups: ['audit-team'] },
    'sub-eve': { preferred_username: 'Eve  \uFF33mith', groups: ['audit-team'] },
  });
});

/** A whole log-in; the browser after it, and the answer of the callback. */
async function logIn(subject: string, jar = createCookieJar(), next = '/page') {
  const link = `${admin.url}/login/openid?next=${encodeURIComponent(next)}`;
  const callback = await logInAtProvider(jar, link, subject);
  return { jar, answer: await jar.ask(callback.href) };
}

/** The name under which a browser is known; the status if it is not let in. */
async function whoIs(jar: CookieJar): Promise<string | number> {
  const { status, text } = await jar.ask(`${admin.url}/api/v1/me`);
  return status === 200 ? z.object({ name: z.string() }).parse(JSON.parse(text)).name : status;
}

const accounts = async () =>
  (await listAccounts(database.db)).map(({ name, role, sources }) => ({
    name: name.replace(/~[0-9a-f]{8}$/, '~DIGEST'),
    role,
    sources,
  }));

describe('a log-in by OpenID Connect', () => {
  it('is required, also before there is an account and without an admin token', async () => {
    const jar = createCookieJar();
    expect(await whoIs(jar)).toBe(401);
    const { answer, address } = await jar.follow(`${admin.url}/page`);
    expect(address.pathname).toBe('/login');
    expect(answer.text).toContain(`Log in with ${new URL(provider.issuer).host}`);
    expect(answer.text).toContain('href="/login/openid?next=%2Fpage"');
    expect(answer.text).not.toMatch(/password|ADMIN_TOKEN/);
  });

  it('adds an account, goes on to the page, and is recorded with the proven name', async () => {
    const { jar, answer } = await logIn('sub-ada');
    expect(answer.text).toContain('content="0; url=/page"');
    expect((await jar.ask(`${admin.url}/page`)).text).toContain('the page');
    expect(await whoIs(jar)).toBe('ada');
    await logIn('sub-ada');
    expect(await accounts()).toEqual([{ name: 'ada', role: 'operator', sources: null }]);
    const login = { operator: 'ada', via: 'console', action: 'console.login', outcome: 'done' };
    expect((await listActions(database.db, { limit: 3 })).toReversed()).toMatchObject([
      {
        operator: 'xiq-sink',
        via: 'system',
        action: 'access.add',
        subject: 'ada',
        details: { role: 'operator', identity: `${provider.issuer} sub-ada` },
        outcome: 'done',
      },
      login,
      login,
    ]);
  });

  it('never leads to the account of another person with that name, from here or from there', async () => {
    await addAccount(database.db, { name: 'eve.smith', role: 'admin', password_hash: 'x' });
    const [ada, other, eve] = [await logIn('sub-ada'), await logIn('sub-other-ada'), await logIn('sub-eve')];
    expect(await whoIs(ada.jar)).toBe('ada');
    expect([await whoIs(other.jar), await whoIs(eve.jar)]).toEqual([403, 403]);
    expect(await accounts()).toEqual([
      { name: 'ada', role: 'operator', sources: null },
      { name: 'Ada~DIGEST', role: 'auditor', sources: null },
      { name: 'eve.smith', role: 'admin', sources: null },
      { name: 'Eve.Smith~DIGEST', role: 'auditor', sources: null },
    ]);
  });

  it('keeps the account of a person who is renamed, and gives the free name to nobody else', async () => {
    await logIn('sub-ada');
    people['sub-ada'] = { preferred_username: 'ada.lovelace', groups: ['netops'] };
    people['sub-new'] = { preferred_username: 'ada', groups: ['audit-team'] };
    expect(await whoIs((await logIn('sub-ada')).jar)).toBe('ada');
    await logIn('sub-new');
    expect(await accounts()).toEqual([
      { name: 'ada', role: 'operator', sources: null },
      { name: 'ada~DIGEST', role: 'auditor', sources: null },
    ]);
  });

  it('of several browsers at the same time makes one account', async () => {
    const jars = Array.from({ length: 6 }, () => createCookieJar());
    const started = await Promise.all(
      jars.map(async (jar) => ({
        jar,
        callback: await logInAtProvider(jar, `${admin.url}/login/openid`, 'sub-ada'),
      })),
    );
    const answers = await Promise.all(started.map(({ jar, callback }) => jar.ask(callback.href)));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(await Promise.all(jars.map(whoIs))).toEqual(Array(6).fill('ada'));
    expect(await accounts()).toHaveLength(1);
  });

  it('takes the role of that moment; another role ends the other sessions', async () => {
    const first = await logIn('sub-ada');
    people['sub-ada'] = { preferred_username: 'ada', groups: ['audit-team'] };
    expect(await whoIs(first.jar)).toBe('ada');
    const second = await logIn('sub-ada');
    expect([await whoIs(first.jar), await whoIs(second.jar)]).toEqual([401, 403]);
    expect(await accounts()).toEqual([{ name: 'ada', role: 'auditor', sources: null }]);
    expect((await listActions(database.db, { limit: 2 }))[1]).toMatchObject({
      operator: 'xiq-sink',
      action: 'access.change',
      subject: 'ada',
      details: { role: 'auditor' },
    });
  });

  it('without a role is refused on the log-in page; a session that is there goes on', async () => {
    const { jar } = await logIn('sub-ada');
    people['sub-ada'] = { preferred_username: 'ada', groups: [] };
    const { answer } = await logIn('sub-ada');
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('role="alert"');
    expect(answer.text).toContain('no group in your claim &quot;groups&quot; has a role');
    expect(await whoIs(jar)).toBe('ada');
  });

  it('of a disabled account is refused, and its session has ended', async () => {
    const { jar } = await logIn('sub-ada');
    await disableAccount(database.db, 'ada');
    expect(await whoIs(jar)).toBe(401);
    const { answer, jar: again } = await logIn('sub-ada');
    expect([answer.status, await whoIs(again)]).toEqual([403, 401]);
    expect(answer.text).toContain('is disabled');
  });

  it('says on the log-in page that the provider is away; the admin token still works', async () => {
    const openId = { ...config, issuer: `http://127.0.0.1:${await freePort()}` };
    const other = await startAdmin([area], database.db, {
      token: TOKEN,
      console: { db: database.db, areas: [area], openId },
    });
    try {
      const jar = createCookieJar();
      expect((await jar.ask(`${other.url}/login`)).status).toBe(200);
      const { status, text } = await jar.ask(`${other.url}/login/openid`);
      expect([status, text.includes('is not working at the moment')]).toEqual([502, true]);
      expect(text).not.toMatch(/ECONN|fetch failed/);
      expect((await jar.ask(`${other.url}/login`, { token: TOKEN })).status).toBe(303);
      expect((await jar.ask(`${other.url}/page`)).status).toBe(200);
    } finally {
      await other.close();
    }
  });

  it.each(['/login/openid', '/login/openid/callback', '/login'])('does not lead back to %s', async (next) => {
    const { answer } = await logIn('sub-ada', createCookieJar(), next);
    expect(answer.text).toContain('content="0; url=/"');
  });
});
