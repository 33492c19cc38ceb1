import { describe, expect, test } from 'vitest';
import { LOG_KINDS } from '../../src/cloud/contract/logs.ts';
import { inTurn, type Received } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';

const DAY = 86_400_000;
const EMPTY = { json: { page: 1, count: 0, total_pages: 0, total_count: 0, data: [] } };

const queriesOf = (received: Received[]) =>
  received.map(({ url }) => Object.fromEntries(new URL(url, 'http://cloud.test').searchParams));

test.each(LOG_KINDS)('%s records come as sent, ids exact, odd members and all', async (kind) => {
  const record =
    '{"id":9223372036854775807,"org_id":0,"timestamp":1633024800123,"username":42,"new_member":[1.5]}';
  await using cloud = await startTestClient(inTurn({ raw: `{"pagination":{"total":1},"data":[${record}]}` }));
  expect(await Array.fromAsync(cloud.client.logs.read({ kind, from: 0, to: DAY }))).toEqual([
    { id: '9223372036854775807', org_id: 0, timestamp: 1633024800123, username: 42, new_member: [1.5] },
  ]);
  expect(cloud.received[0]?.url).toMatch(new RegExp(`^/logs/${kind}\\?`));
});

describe('the span asked for', () => {
  test.each([
    ['audit', 'in windows of at most 30 days, without a gap', [0, 30, 60, 70]],
    ['sms', 'at once, in pages of 100', [0, 70]],
  ] as const)('of the log %s goes %s', async (kind, _how, days) => {
    await using cloud = await startTestClient(inTurn(EMPTY));
    await Array.fromAsync(cloud.client.logs.read({ kind, from: 5, to: 5 + 70 * DAY }));
    const edges = days.map((day) => String(5 + day * DAY));
    expect(queriesOf(cloud.received)).toEqual(
      edges.slice(1).map((endTime, at) => ({ startTime: edges[at], endTime, page: '1', limit: '100' })),
    );
  });

  test('that is empty asks nothing', async () => {
    await using cloud = await startTestClient(inTurn(EMPTY));
    expect(await Array.fromAsync(cloud.client.logs.read({ kind: 'audit', from: DAY, to: DAY }))).toEqual([]);
    expect(cloud.received).toEqual([]);
  });
});

test('alerts are read like a log, oldest first, with their time as sent', async () => {
  const alert = { id: 'a-1', timestamp: '2026-11-10T10:00:00.000+00:00', acknowledged: false };
  await using cloud = await startTestClient(inTurn({ json: { page: 1, total_pages: 1, data: [alert] } }));
  expect(await Array.fromAsync(cloud.client.logs.read({ kind: 'alerts', from: 5, to: 9 }))).toEqual([alert]);
  expect(cloud.received[0]?.url).toMatch(/^\/alerts\?/);
  expect(queriesOf(cloud.received)).toEqual([
    { startTime: '5', endTime: '9', sortField: 'TIMESTAMP', order: 'ASC', page: '1', limit: '100' },
  ]);
});

describe('the whole description of an audit record', () => {
  test('is read by its id, as the vendor describes it', async () => {
    const json = { id: 77, timestamp: 1_633_024_800_123, device_id: 5, description: 'the whole' };
    await using cloud = await startTestClient(inTurn({ json }));
    expect(await cloud.client.logs.fullDescription('9223372036854775807')).toBe('the whole');
    expect(cloud.received.map(({ url }) => url)).toEqual([
      '/logs/audit/full-descriptions/9223372036854775807',
    ]);
  });

  test.each([
    ['does not exist', { status: 404 }],
    ['is not permitted', { status: 403 }],
    ['is refused', { status: 422 }],
    ['has no documented form', { json: [1] }],
  ])('is nothing when it %s', async (_, answer) => {
    await using cloud = await startTestClient(inTurn(answer));
    expect(await cloud.client.logs.fullDescription('77')).toBeUndefined();
  });

  test('is an error when the cloud does not accept the token: other calls fail too', async () => {
    await using cloud = await startTestClient(inTurn({ status: 401 }));
    await expect(cloud.client.logs.fullDescription('77')).rejects.toMatchObject({ status: 401 });
  });
});

test('all pages of all windows are read', async () => {
  await using cloud = await startTestClient((call, index) => {
    const [query] = queriesOf([call]);
    return { json: { page: Number(query?.['page']), total_pages: 2, data: [{ id: index }] } };
  });
  const records = await Array.fromAsync(cloud.client.logs.read({ kind: 'audit', from: 0, to: 31 * DAY }));
  expect(records.map((record) => record.id)).toEqual([0, 1, 2, 3]);
});
