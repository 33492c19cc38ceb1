import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createCall,
  errorCode,
  errorSchema,
  idsOf,
  manualClock,
  onlineDevice,
  startEmulator,
} from './harness.ts';

const WRONG_LOGIN = { username: 'admin@emulator.test', password: 'wrong' };

describe('each named error code', () => {
  it('BAD_REQUEST answers a wrong password, with all five members and not a word of the password', async () => {
    const { call } = await startEmulator();
    const answer = await call('POST', '/login', { body: WRONG_LOGIN });
    expect(answer.status).toBe(400);
    expect(Object.keys(errorSchema.parse(answer.body)).toSorted()).toEqual([
      'error_code',
      'error_id',
      'error_message',
      'error_message_code',
      'error_message_description',
    ]);
    expect(errorCode(answer)).toBe('BAD_REQUEST');
    expect(answer.text).not.toContain(WRONG_LOGIN.password);
  });

  it('AUTH_TOKEN_REVOKED answers a token that was logged out, with code and id only', async () => {
    const { call } = await startEmulator();
    await call('POST', '/logout');
    for (const [method, path] of [
      ['POST', '/logout'],
      ['GET', '/devices'],
    ] as const) {
      const answer = await call(method, path);
      expect(answer.status).toBe(401);
      expect(Object.keys(errorSchema.parse(answer.body)).toSorted()).toEqual(['error_code', 'error_id']);
      expect(errorCode(answer)).toBe('AUTH_TOKEN_REVOKED');
    }
  });

  it('UNIMPLEMENTED answers the cancellation of a running operation that cannot be cancelled', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const started = await call('POST', `/devices/${await onlineDevice(call)}/:reset?async=true`);
    await clock.advance(2000);
    const answer = await call('POST', `${started.headers.get('location')}/:cancel`);
    expect([answer.status, errorCode(answer)]).toEqual([400, 'UNIMPLEMENTED']);
  });

  it('FAILED_PRECONDITION answers the cancellation of a finished operation, and the deletion of a running one', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const location = (await call('GET', '/devices?async=true')).headers.get('location') ?? '';
    await clock.advance(2000);
    const deletion = await call('DELETE', location);
    expect([deletion.status, errorCode(deletion)]).toEqual([400, 'FAILED_PRECONDITION']);
    await clock.advance(10_000);
    const cancellation = await call('POST', `${location}/:cancel`);
    expect([cancellation.status, errorCode(cancellation)]).toEqual([400, 'FAILED_PRECONDITION']);
  });
});

describe('each status', () => {
  it('400 names the members that are wrong, not their values', async () => {
    const { call } = await startEmulator();
    const body = [{ application: 'a', url: 'no url', secret: 12345, message_type: 'SOMETHING' }];
    const answer = await call('POST', '/subscriptions/webhook', { body });
    expect(answer.status).toBe(400);
    const { error_message: message } = errorSchema.parse(answer.body);
    for (const member of ['body.0.url', 'body.0.secret', 'body.0.message_type']) {
      expect(message).toContain(member);
    }
    expect(message).not.toContain('12345');
  });

  it.each([
    ['no JSON', '{"username":'],
    ['no body', undefined],
    ['an empty body', ''],
    ['another type', '[]'],
  ])('400 answers %s', async (_, raw) => {
    const { call } = await startEmulator();
    const answer = await call('POST', '/login', raw === undefined ? {} : { raw });
    expect([answer.status, errorCode(answer)]).toEqual([400, 'BAD_REQUEST']);
  });

  it.each(['abc', '-1', '1.5', '9223372036854775808'])('400 answers the identifier %s', async (id) => {
    const { call } = await startEmulator();
    expect((await call('GET', `/devices/${id}`)).status).toBe(400);
  });

  it.each([
    ['none', {}],
    ['another scheme', { authorization: 'Basic YTpi' }],
    ['no JWT', { authorization: 'Bearer nothing' }],
    ['three parts of nothing', { authorization: 'Bearer e30.e30.e30' }],
  ])('401 answers a token that is no good: %s', async (_, headers) => {
    const { url } = await startEmulator();
    const answer = await createCall(url)('GET', '/devices', { headers });
    expect([answer.status, errorCode(answer)]).toEqual([401, 'UNAUTHENTICATED']);
  });

  it('403 answers a caller without the permission, and names it', async () => {
    const { call } = await startEmulator();
    const made = await call('POST', '/auth/apitoken', { body: { permissions: ['device:r'] } });
    const { access_token: token } = z.object({ access_token: z.string() }).parse(made.body);
    const answer = await call('GET', '/ssids', { token });
    expect([answer.status, errorCode(answer)]).toEqual([403, 'PERMISSION_DENIED']);
    expect(answer.text).toContain('ssid:r');
    expect(answer.headers.has('ratelimit')).toBe(false);
  });

  it('403 answers calls of HIQ accounts to an account that is none', async () => {
    const { call } = await startEmulator({ isHiq: false });
    for (const path of ['/hiq/context', '/hiq/context/creating', '/hiq/context/reading']) {
      expect((await call('GET', path)).status).toBe(403);
    }
    expect((await call('PUT', '/hiq/context/creating', { body: 1 })).status).toBe(403);
  });

  it.each([
    ['GET', '/no/such/path'],
    ['GET', '/devices/1'],
    ['PATCH', '/devices'],
    ['GET', '/Devices'],
    ['GET', '/devices/'],
    ['POST', '/devices/location/:assigne'],
    ['GET', '/operations/none'],
  ])('404 answers %s %s', async (method, path) => {
    const { call } = await startEmulator();
    const answer = await call(method, path);
    expect([answer.status, errorCode(answer)]).toEqual([404, 'NOT_FOUND']);
  });

  it('404 answers a list of devices in which one is not there, and changes none of the others', async () => {
    const { call } = await startEmulator();
    const ids = await idsOf(call, '/devices');
    const answer = await call('POST', '/devices/:delete', { body: { ids: [ids[0], 1] } });
    expect(answer.status).toBe(404);
    expect(await idsOf(call, '/devices')).toEqual(ids);
  });

  it('413 answers a body over 1 MB', async () => {
    const { call } = await startEmulator();
    const answer = await call('PUT', '/user-profiles/1', { body: { name: 'x'.repeat(1_100_000) } });
    expect([answer.status, errorCode(answer)]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it.each([
    ['/login', 'text/plain'],
    ['/login', 'application/x-www-form-urlencoded'],
    ['/login', 'application/json; charset=latin1'],
    ['/auth/apitoken/:validate', 'application/json'],
  ])('415 answers %s with %s', async (path, type) => {
    const { call } = await startEmulator();
    const answer = await call('POST', path, { raw: '"x"', headers: { 'content-type': type } });
    expect([answer.status, errorCode(answer)]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  it('415 answers a content encoding that is not known', async () => {
    const { call } = await startEmulator();
    const answer = await call('POST', '/login', { body: {}, headers: { 'content-encoding': 'brotli2' } });
    expect(answer.status).toBe(415);
  });

  it('429 answers a call over the quota, which slides by the hour', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock, quota: 3 });
    const remaining: (string | null)[] = [];
    for (const _ of [1, 2, 3]) {
      remaining.push((await call('GET', '/users/me')).headers.get('ratelimit'));
      await clock.advance(60_000);
    }
    expect(remaining).toEqual(['"default";r=2', '"default";r=1', '"default";r=0']);
    const refused = await call('GET', '/users/me');
    expect([refused.status, errorCode(refused)]).toEqual([429, 'RESOURCE_EXHAUSTED']);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBe(3600 - 180);
    await clock.advance(seconds * 1000 - 1);
    expect((await call('GET', '/users/me')).status).toBe(429);
    await clock.advance(1);
    expect((await call('GET', '/users/me')).status).toBe(200);
  });

  it('500 answers a defect, which is logged and not told', async () => {
    const logged: unknown[] = [];
    const clock = manualClock();
    const { call } = await startEmulator({
      clock,
      logger: {
        error(fields) {
          logged.push(fields);
        },
      },
    });
    clock.now = () => {
      throw new Error('the clock broke');
    };
    const answer = await call('GET', '/users/me');
    expect([answer.status, errorCode(answer)]).toEqual([500, 'INTERNAL']);
    expect(answer.text).not.toContain('the clock broke');
    expect(logged).toMatchObject([{ method: 'GET', path: '/users/me', err: { message: 'the clock broke' } }]);
  });

  it('every error has an identifier of its own', async () => {
    const { call } = await startEmulator();
    const ids = await Promise.all(
      Array.from(
        { length: 10 },
        async () => errorSchema.parse((await call('GET', '/nothing')).body).error_id,
      ),
    );
    expect(new Set(ids).size).toBe(10);
  });
});
