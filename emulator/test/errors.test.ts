import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCall, errorCode, errorSchema, manualClock, startEmulator } from './harness.ts';

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
});
