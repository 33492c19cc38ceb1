import { describe, expect, test } from 'vitest';
import { type Received, type Reply, type Script, inTurn } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';
import { createCloudClient } from '../../src/cloud/client.ts';

const credentials = { username: 'admin@example.test', password: 'hunter2' };
const HOME = { json: { name: 'Home' } };
const REVOKED = { status: 401, json: { error_code: 'AUTH_TOKEN_REVOKED', error_id: 'e-1' } };

/** Gives out the tokens t1, t2, ... by login; everything else answers `reply`, given the token presented. */
function loggingIn(reply: (token: string, call: Received) => Reply, lifetimeSeconds = 86_400): Script {
  let logins = 0;
  return (call) => {
    if (call.url !== '/login') return reply(call.headers.authorization ?? '', call);
    logins++;
    return { json: { access_token: `t${logins}`, token_type: 'Bearer', expires_in: lifetimeSeconds } };
  };
}

/** A client with user name and password, whose calls are answered so. */
const startLoggingIn = (reply: (token: string, call: Received) => Reply, lifetimeSeconds?: number) =>
  startTestClient(loggingIn(reply, lifetimeSeconds), { credentials });

function callsTo(received: Received[], url: string): Received[] {
  return received.filter((call) => call.url === url);
}

describe('user name and password', () => {
  test('log in once for many calls that wait', async () => {
    await using cloud = await startLoggingIn(() => HOME);
    await Promise.all(Array.from({ length: 20 }, () => cloud.client.account.viq()));
    expect(callsTo(cloud.received, '/login').map((call) => call.body)).toEqual([JSON.stringify(credentials)]);
    expect(callsTo(cloud.received, '/account/viq').map((call) => call.headers.authorization)).toEqual(
      Array.from({ length: 20 }, () => 'Bearer t1'),
    );
  });

  test('log in again before the token ends, and not sooner', async () => {
    await using cloud = await startLoggingIn(() => HOME, 3600);
    await cloud.client.account.viq();
    cloud.clock.advance(54 * 60_000);
    await cloud.client.account.viq();
    expect(callsTo(cloud.received, '/login')).toHaveLength(1);
    cloud.clock.advance(2 * 60_000);
    await cloud.client.account.viq();
    expect(callsTo(cloud.received, '/login')).toHaveLength(2);
    expect(cloud.received.at(-1)?.headers.authorization).toBe('Bearer t2');
  });

  test('log in again when the token is refused, once for all calls it is refused to', async () => {
    await using cloud = await startLoggingIn((token) => (token === 'Bearer t1' ? REVOKED : HOME));
    await Promise.all(Array.from({ length: 5 }, () => cloud.client.account.viq()));
    expect(callsTo(cloud.received, '/login')).toHaveLength(2);
  });

  test('give up when the fresh token is refused as well', async () => {
    await using cloud = await startLoggingIn(() => REVOKED);
    await expect(cloud.client.account.viq()).rejects.toMatchObject({
      status: 401,
      errorCode: 'AUTH_TOKEN_REVOKED',
      errorId: 'e-1',
    });
    expect(callsTo(cloud.received, '/login')).toHaveLength(2);
  });

  test('a refused login that cannot be recorded is told all the same, and not repeated here', async () => {
    const fails = () => Promise.reject(new Error('the database is read-only'));
    const refusedLogins = { find: async () => undefined, save: fails, forget: async () => undefined };
    const refused = { status: 401, json: { error_code: 'AUTH_FAILED', error_id: 'e-3' } };
    await using cloud = await startTestClient(() => refused, { credentials, refusedLogins });
    await expect(cloud.client.login()).rejects.toMatchObject({ status: 401 });
    await expect(cloud.client.login()).rejects.toThrow(/AUTH_FAILED.*not sent again until/);
    expect(cloud.received).toHaveLength(1);
  });

  test('a refused login is not repeated by any client of the process, until the password changes or a person asks', async () => {
    let isRight = false;
    const logIn = loggingIn(() => HOME);
    const answer: Script = (call, index) =>
      call.url === '/login' && !isRight ? { status: 401 } : logIn(call, index);
    await using cloud = await startTestClient(answer, { credentials });
    const other = (password: string) =>
      createCloudClient({ baseUrl: cloud.url, credentials: { ...credentials, password } });
    const parts = Array.from({ length: 5 }, () => other(credentials.password));
    await Promise.all(
      [...parts, ...parts].map(({ account }) =>
        expect(account.viq()).rejects.toMatchObject({ status: 401, path: '/login' }),
      ),
    );
    expect(cloud.received).toHaveLength(1);
    await expect(other('changed').account.viq()).rejects.toMatchObject({ status: 401 });
    expect(cloud.received).toHaveLength(2);

    isRight = true;
    await expect(cloud.client.account.viq()).rejects.toMatchObject({ status: 401 });
    await cloud.client.askAgain();
    await cloud.client.account.viq();
    await parts[0]?.account.viq();
    expect(callsTo(cloud.received, '/login')).toHaveLength(4);
  });

  test('a fault of the server that stands for a minute is no page of a proxy', async () => {
    await using cloud = await startTestClient(() => ({ status: 500 }), { credentials });
    const failed = () =>
      expect(cloud.client.account.viq()).rejects.toMatchObject({ status: 500, isHtml: false });
    await failed();
    await failed();
  });

  test('a page that refuses a login is asked again after an hour', async () => {
    const page = { status: 403, headers: { 'content-type': 'text/html' }, raw: '<html></html>' };
    await using cloud = await startTestClient(() => page, { credentials });
    const refused = () => expect(cloud.client.account.viq()).rejects.toMatchObject({ status: 403 });
    await refused();
    cloud.clock.advance(59 * 60_000);
    await refused();
    expect(cloud.received).toHaveLength(1);
    cloud.clock.advance(60_000);
    await refused();
    expect(cloud.received).toHaveLength(2);
  });

  test('a caller that gives up does not end the login others wait for', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const answer = loggingIn(() => HOME);
    await using cloud = await startTestClient(
      (call, index) => {
        controller.abort(reason);
        return answer(call, index);
      },
      { credentials },
    );
    const impatient = cloud.client.account.viq(controller.signal);
    const patient = cloud.client.account.viq();
    await expect(impatient).rejects.toBe(reason);
    expect(await patient).toMatchObject({ name: 'Home' });
    expect(callsTo(cloud.received, '/login')).toHaveLength(1);
  });
});

describe('logout', () => {
  test('revokes the token of a login, and the next call logs in anew', async () => {
    await using cloud = await startLoggingIn(() => HOME);
    await cloud.client.login();
    await cloud.client.logout();
    expect(cloud.received.at(-1)).toMatchObject({
      method: 'POST',
      url: '/logout',
      body: '',
      headers: { authorization: 'Bearer t1' },
    });
    await cloud.client.account.viq();
    expect(cloud.received.at(-1)?.headers.authorization).toBe('Bearer t2');
  });

  test('waits for a login under way, so that no token is left behind', async () => {
    await using cloud = await startLoggingIn(() => HOME);
    const login = cloud.client.login();
    await cloud.client.logout();
    await login;
    expect(cloud.received.map((call) => call.url)).toEqual(['/login', '/logout']);
  });

  test('sends nothing without a login', async () => {
    await using cloud = await startLoggingIn(() => HOME);
    await cloud.client.logout();
    expect(cloud.received).toEqual([]);
  });

  test('of a token that is revoked already is no news; of another failure only a warning', async () => {
    const warnings: unknown[] = [];
    const replies: Reply[] = [REVOKED, { status: 500 }];
    await using cloud = await startTestClient(
      loggingIn(() => replies.shift() ?? HOME),
      {
        credentials,
        logger: { debug: () => {}, info: () => {}, warn: (line: unknown) => warnings.push(line) },
      },
    );
    await cloud.client.login();
    await cloud.client.logout();
    expect(warnings).toEqual([]);
    await cloud.client.login();
    await cloud.client.logout();
    expect(warnings).toHaveLength(1);
  });
});

describe('an API token', () => {
  test('is used as it is, never logged out', async () => {
    await using cloud = await startTestClient(inTurn(HOME), { credentials: { apiToken: 'long-lived' } });
    await cloud.client.login();
    await cloud.client.account.viq();
    await cloud.client.logout();
    expect(cloud.received.map((call) => [call.url, call.headers.authorization])).toEqual([
      ['/account/viq', 'Bearer long-lived'],
    ]);
  });

  test('that was revoked is told apart from one that is not accepted', async () => {
    await using cloud = await startTestClient(inTurn(REVOKED, { status: 401 }));
    await expect(cloud.client.account.viq()).rejects.toThrow(/AUTH_TOKEN_REVOKED.*was revoked/);
    await expect(cloud.client.account.viq()).rejects.toThrow(/not accepted/);
    expect(cloud.received).toHaveLength(2);
  });
});
