import { describe, expect, test } from 'vitest';
import { createCloudClient } from '../../src/cloud/client.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { CloudApiError } from '../../src/cloud/cloud-api-error.ts';
import { createFakeClock } from './fake-clock.ts';
import { inTurn, standIn } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';
import { freePort } from '../support/free-port.ts';

const OK = { json: { name: 'Home' } };
const SUBSCRIPTION = {
  application: 'xiq-sink',
  url: 'https://sink.test/ingest/default/SMS_LOG_ALL',
  secret: 's3cret',
  message_type: 'SMS_LOG_ALL',
} as const;

async function errorOf(work: Promise<unknown>): Promise<CloudApiError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CloudApiError) return error;
  throw new Error('expected a CloudApiError', { cause: error });
}

describe('what a call looks like', () => {
  test('it presents the bearer token and asks for JSON', async () => {
    await using cloud = await startTestClient(inTurn(OK));
    await cloud.client.account.viq();
    expect(cloud.received[0]).toMatchObject({
      method: 'GET',
      url: '/account/viq',
      headers: { authorization: 'Bearer api-token-1', accept: 'application/json' },
    });
  });

  test('a path prefix of the address and a verb segment survive', async () => {
    await using cloud = await standIn(inTurn({ json: { permissions: [] } }));
    const credentials = { apiToken: 'api-token-1' };
    const client = createCloudClient({ baseUrl: `${cloud.url}/xapi/v1`, credentials });
    await client.authorization.checkPermission({ uri: '/subscriptions/webhook', method: 'get' });
    expect(cloud.received[0]?.url).toBe('/xapi/v1/auth/permissions/:check');
  });
});

describe('errors', () => {
  test.each([
    [
      { error_code: 'ACCESS_DENIED', error_id: 'e-1', error_message: 'Not for you', error_params: [] },
      { errorCode: 'ACCESS_DENIED', errorId: 'e-1' },
      'GET /account/viq answered 403 ACCESS_DENIED; Not for you; error id e-1',
    ],
    // The older body.
    [
      { error: 'NOT_FOUND', uuid: 'u-1', message: 'No such thing' },
      { errorCode: 'NOT_FOUND', errorId: 'u-1' },
      'No such thing',
    ],
    [
      { error_code: 'BAD_REQUEST', error_message_description: 'limit is too large' },
      { errorCode: 'BAD_REQUEST' },
      'limit is too large',
    ],
    [
      '<html>nginx</html>',
      { errorCode: undefined, isHtml: true },
      'answered 403; an HTML page instead of JSON',
    ],
  ])('the body %j gives code, id and message', async (body, members, message) => {
    const raw = typeof body === 'string' ? body : JSON.stringify(body);
    await using cloud = await startTestClient(inTurn({ status: 403, raw }));
    const error = await errorOf(cloud.client.account.viq());
    expect(error).toMatchObject({ status: 403, method: 'GET', path: '/account/viq', ...members });
    expect(error.message).toContain(message);
    expect(error.message.includes('lacks the permission')).toBe(typeof body !== 'string');
  });

  test('an address that may only be public reaches nothing here, by its name either', async () => {
    await using cloud = await standIn(inTurn(OK));
    const credentials = { apiToken: 'api-token-1' };
    for (const host of ['127.0.0.1', 'localhost']) {
      const baseUrl = cloud.url.replace('127.0.0.1', host);
      const client = createCloudClient({ baseUrl, credentials, publicOnly: true, clock: createFakeClock() });
      expect((await errorOf(client.account.viq())).message).toMatch(/not a public address \(loopback\)/);
    }
    expect(cloud.received).toEqual([]);
  });

  test('a redirect is not followed', async () => {
    await using cloud = await startTestClient(
      inTurn({ status: 302, headers: { location: '/elsewhere' } }, OK),
    );
    expect(await errorOf(cloud.client.account.viq())).toMatchObject({ status: 302 });
    expect(cloud.received).toHaveLength(1);
  });

  test('a good status with a body that is no JSON, or lacks a member we need, is an error that says so', async () => {
    await using cloud = await startTestClient(
      inTurn({ raw: 'hello' }, { raw: '<!doctype html>Log in' }, { json: { user_id: 1 } }),
    );
    expect((await errorOf(cloud.client.account.viq())).message).toContain('not JSON');
    expect((await errorOf(cloud.client.account.viq())).message).toContain('an HTML page instead of JSON');
    expect((await errorOf(cloud.client.authorization.tokenInfo())).message).toContain('user_name');
  });

  test('a connection that cannot be made is an error without status that names the reason', async () => {
    const client = createCloudClient({
      baseUrl: `http://127.0.0.1:${await freePort()}`,
      credentials: { apiToken: 'api-token-1' },
      clock: createFakeClock(),
    });
    const error = await errorOf(client.account.viq());
    expect(error.status).toBeUndefined();
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.cause).toBeInstanceOf(Error);
  });
});

describe('what is repeated', () => {
  test.each([400, 401, 403, 404, 405, 409, 415])('%i is not', async (status) => {
    await using cloud = await startTestClient(inTurn({ status }));
    const error = await errorOf(cloud.client.account.viq());
    expect(error.status).toBe(status);
    expect(error.message.includes('lacks the permission')).toBe(status === 403);
    expect(cloud.received).toHaveLength(1);
    expect(cloud.clock.sleeps).toEqual([]);
  });

  test.each([500, 502, 503, 504])('%i is, with growing pauses', async (status) => {
    await using cloud = await startTestClient(inTurn({ status }, { status }, { status }, OK));
    await cloud.client.account.viq();
    const [first = 0, second = 0, third = 0] = cloud.clock.sleeps;
    expect(first).toBeGreaterThanOrEqual(500);
    expect(second).toBeGreaterThanOrEqual(1000);
    expect(third).toBeGreaterThanOrEqual(2000);
    expect(third).toBeLessThanOrEqual(3000);
  });

  test('but not without end', async () => {
    await using cloud = await startTestClient(inTurn({ status: 503 }));
    expect(await errorOf(cloud.client.account.viq())).toMatchObject({ status: 503 });
    expect(cloud.received).toHaveLength(5);
  });

  test.each([429, 503])('%i waits as long as Retry-After asks for, and a little more', async (status) => {
    await using cloud = await startTestClient(inTurn({ status, headers: { 'retry-after': '17' } }, OK));
    await cloud.client.account.viq();
    expect(cloud.clock.sleeps).toHaveLength(1);
    expect(cloud.clock.sleeps[0]).toBeGreaterThanOrEqual(17_000);
    expect(cloud.clock.sleeps[0]).toBeLessThanOrEqual(18_000);
  });

  test('a refusal without Retry-After waits until the quota renews', async () => {
    const headers = { 'ratelimit-remaining': '0', 'ratelimit-reset': '40' };
    await using cloud = await startTestClient(inTurn({ status: 429, headers }, OK));
    await cloud.client.account.viq();
    expect(cloud.clock.sleeps[0]).toBeGreaterThanOrEqual(40_000);
  });

  test('a wait of an hour is left to the caller', async () => {
    await using cloud = await startTestClient(
      inTurn({ status: 429, headers: { 'retry-after': '3600' } }, OK),
    );
    const error = await errorOf(cloud.client.account.viq());
    expect(error).toMatchObject({ status: 429, retryAfterMs: 3_600_000 });
    expect(error.message).toContain('3600 s');
    expect(cloud.received).toHaveLength(1);
  });

  test('a lost answer to a reading call', async () => {
    await using cloud = await startTestClient(inTurn('cut', OK));
    await cloud.client.account.viq();
    expect(cloud.received).toHaveLength(2);
  });

  test.each([['cut' as const], [{ status: 500 }], [{ status: 503, headers: { 'retry-after': '1' } }]])(
    'never a creating call of which nobody knows whether it was carried out: %j',
    async (reply) => {
      await using cloud = await startTestClient(inTurn(reply, { status: 202 }));
      await errorOf(cloud.client.subscriptions.create([SUBSCRIPTION]));
      expect(cloud.received).toHaveLength(1);
    },
  );

  test('a creating call that was refused for the rate limit', async () => {
    await using cloud = await startTestClient(
      inTurn({ status: 429, headers: { 'retry-after': '1' } }, { status: 202 }),
    );
    await cloud.client.subscriptions.create([SUBSCRIPTION]);
    expect(cloud.received).toHaveLength(2);
  });

  test('a creating call whose connection could not even be made', async () => {
    const clock = createFakeClock();
    const client = createCloudClient({
      baseUrl: `http://127.0.0.1:${await freePort()}`,
      credentials: { apiToken: 'api-token-1' },
      clock,
    });
    await errorOf(client.subscriptions.create([SUBSCRIPTION]));
    expect(clock.sleeps).toHaveLength(4);
  });
});

test('calls are held back as the quota runs out', async () => {
  const headers = { ratelimit: '"default";r=0;t=5' };
  await using cloud = await startTestClient(inTurn({ ...OK, headers }));
  await cloud.client.account.viq();
  expect(cloud.clock.sleeps).toEqual([]);
  await cloud.client.account.viq();
  expect(cloud.clock.sleeps).toEqual([5000]);
});

describe('time-out and abort', () => {
  test('a call that is not answered in time fails without status', async () => {
    await using cloud = await startTestClient(inTurn('silent'), { timeoutMs: 20 });
    const error = await errorOf(cloud.client.subscriptions.create([SUBSCRIPTION]));
    expect(error.status).toBeUndefined();
    expect(error.message).toContain('no answer within 20 ms');
  });

  test('an answer that would fill the memory fails without status', async () => {
    await using cloud = await startTestClient(inTurn({ raw: Buffer.alloc(65 * 1024 * 1024, ' ') }));
    const error = await errorOf(cloud.client.subscriptions.create([SUBSCRIPTION]));
    expect(error.status).toBeUndefined();
    expect(error.message).toContain('the cloud sent more than 67108864 bytes');
  });

  test('an abort while the cloud is silent rejects with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    await using cloud = await startTestClient(() => {
      controller.abort(reason);
      return 'silent';
    });
    await expect(cloud.client.account.viq(controller.signal)).rejects.toBe(reason);
    expect(cloud.received).toHaveLength(1);
  });

  test('an abort ends the wait before a repetition', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    await using cloud = await startTestClient(inTurn({ status: 503, headers: { 'retry-after': '60' } }), {
      clock: systemClock,
      logger: { debug: () => {}, warn: () => {}, info: () => controller.abort(reason) },
    });
    await expect(cloud.client.account.viq(controller.signal)).rejects.toBe(reason);
    expect(cloud.received).toHaveLength(1);
  });

  test('an aborted signal lets nothing out', async () => {
    await using cloud = await startTestClient(inTurn(OK));
    await expect(cloud.client.account.viq(AbortSignal.abort())).rejects.toThrow(/aborted/);
    expect(cloud.received).toHaveLength(0);
  });
});
