import { describe, expect, test } from 'vitest';
import { createCloudClient } from '../../src/cloud/client.ts';
import { inTurn, startScriptedCloud } from './scripted-cloud.ts';
import type { Reply } from './scripted-cloud.ts';
import { startTestClient } from './test-client.ts';

function operation(status: string, more: { metadata?: object; [member: string]: unknown } = {}): object {
  const { metadata, ...members } = more;
  return {
    id: 'op-1',
    done: ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(status),
    metadata: {
      status,
      cancelable: true,
      create_time: '2026-01-01T00:00:00Z',
      update_time: '2026-01-01T00:00:01Z',
      expires_in: 3600,
      ...metadata,
    },
    ...members,
  };
}

const accepted = (location: string): Reply => ({ status: 202, headers: { location, 'retry-after': '3' } });

describe('waiting for a long-running operation', () => {
  test('polls at the Location, first after its Retry-After, then after each answer asks for, never under 500 ms', async () => {
    await using cloud = await startTestClient(
      inTurn(
        accepted('/operations/op-1?detail=1'),
        { json: operation('PENDING') },
        { json: operation('RUNNING'), headers: { 'retry-after': '0' } },
        { json: operation('RUNNING'), headers: { 'retry-after': '9' } },
        { json: operation('SUCCEEDED', { response: { ids: [9_007_199_254_740_991] } }) },
      ),
    );
    const started = await cloud.client.devices.startList({ views: ['full'] });
    const done = await cloud.client.operations.wait(started);
    expect(done.response).toEqual({ ids: [9_007_199_254_740_991] });
    expect(cloud.clock.sleeps).toEqual([3000, 3000, 500, 9000]);
    expect(cloud.received.map((call) => call.url)).toEqual([
      '/devices?views=full&async=true',
      ...Array.from({ length: 4 }, () => '/operations/op-1?detail=1'),
    ]);
  });

  test('reports progress with every answer', async () => {
    await using cloud = await startTestClient(
      inTurn(
        { json: operation('RUNNING', { metadata: { percentage: 40, step: 'collect' } }) },
        { json: operation('SUCCEEDED', { metadata: { percentage: 100 } }) },
      ),
    );
    const seen: unknown[] = [];
    await cloud.client.operations.wait(
      { path: '/operations/op-1', retryAfterMs: undefined },
      { onProgress: ({ metadata }) => seen.push([metadata.status, metadata.percentage, metadata.step]) },
    );
    expect(seen).toEqual([
      ['RUNNING', 40, 'collect'],
      ['SUCCEEDED', 100, undefined],
    ]);
  });

  test.each(['FAILED', 'CANCELED'])('one that ended %s rejects with its error', async (status) => {
    const error = { error_code: 'DEVICE_OFFLINE', error_id: 'e-7', error_message: 'unreachable' };
    await using cloud = await startTestClient(inTurn({ json: operation(status, { error }) }));
    const waiting = cloud.client.operations.wait({ path: '/operations/op-1', retryAfterMs: 0 });
    await expect(waiting).rejects.toMatchObject({
      name: 'CloudApiError',
      errorCode: 'DEVICE_OFFLINE',
      errorId: 'e-7',
      path: '/operations/op-1',
      message: `operation op-1 ended ${status}; DEVICE_OFFLINE; unreachable; error id e-7`,
    });
  });

  test('one that failed with an error of an unknown shape still says that it failed', async () => {
    await using cloud = await startTestClient(inTurn({ json: operation('FAILED', { error: { code: 13 } }) }));
    const waiting = cloud.client.operations.wait({ path: '/operations/op-1', retryAfterMs: 0 });
    await expect(waiting).rejects.toThrow('operation op-1 ended FAILED');
  });

  test('an abort ends the polling', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    await using cloud = await startTestClient(inTurn({ json: operation('RUNNING') }));
    const waiting = cloud.client.operations.wait(
      { path: '/operations/op-1', retryAfterMs: 0 },
      { onProgress: () => controller.abort(reason), signal: controller.signal },
    );
    await expect(waiting).rejects.toBe(reason);
    expect(cloud.received).toHaveLength(1);
  });

  test('a record that is gone is a 404', async () => {
    await using cloud = await startTestClient(inTurn({ status: 404 }));
    const waiting = cloud.client.operations.wait({ path: '/operations/op-1', retryAfterMs: 0 });
    await expect(waiting).rejects.toMatchObject({ status: 404 });
  });
});

describe('where an operation is polled', () => {
  async function pollPath(location: (baseUrl: string) => string): Promise<string> {
    await using cloud = await startScriptedCloud((call) => accepted(location(`http://${call.headers.host}`)));
    const baseUrl = `${cloud.baseUrl}/xapi`;
    const client = createCloudClient({ baseUrl, credentials: { apiToken: 'api-token-1' } });
    return (await client.devices.startList()).path;
  }

  test.each([
    ['an absolute address below the base address', (base: string) => `${base}/xapi/operations/5`],
    ['the same as a path', () => '/xapi/operations/5'],
    ['a path without the prefix the cloud does not know of', () => '/operations/5'],
    ['another host, which must not get the token', () => 'https://rdc7.cloud.test/v9/operations/5'],
  ])('%s', async (_name, location) => {
    expect(await pollPath(location)).toBe('/operations/5');
  });

  test.each([
    ['an address that is no operation', accepted('https://evil.test/steal'), /without an address to poll/],
    ['no address', { status: 202 }, /without an address to poll/],
    ['a synchronous answer', { status: 200, json: [] }, /instead of starting an operation/],
  ])('%s is an error', async (_name, reply, message) => {
    await using cloud = await startTestClient(inTurn(reply));
    await expect(cloud.client.devices.startList()).rejects.toThrow(message);
  });
});

describe('single calls', () => {
  test('get, cancel and remove go to the operation', async () => {
    await using cloud = await startTestClient(inTurn({ json: operation('RUNNING') }, {}, {}));
    expect(await cloud.client.operations.get('op-1')).toMatchObject({ id: 'op-1', done: false });
    await cloud.client.operations.cancel('op-1');
    await cloud.client.operations.remove('op-1');
    expect(cloud.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /operations/op-1',
      'POST /operations/op-1/:cancel',
      'DELETE /operations/op-1',
    ]);
  });

  test.each([
    [501, 'UNIMPLEMENTED'],
    [400, 'FAILED_PRECONDITION'],
  ])('a cancellation refused with %i %s says so', async (status, code) => {
    await using cloud = await startTestClient(inTurn({ status, json: { error_code: code } }));
    await expect(cloud.client.operations.cancel('op-1')).rejects.toMatchObject({ status, errorCode: code });
    expect(cloud.received).toHaveLength(1);
  });

  test('an operation in a state we do not know is an error, not a guess', async () => {
    await using cloud = await startTestClient(inTurn({ json: operation('PAUSED') }));
    await expect(cloud.client.operations.get('op-1')).rejects.toThrow(/metadata\.status/);
  });
});
