import { expect, test } from 'vitest';
import type { Received, Reply } from './scripted-cloud.ts';
import { startTestClient } from './test-client.ts';

const DEVICES = Array.from({ length: 230 }, (_, index) => ({ id: index + 1 }));
const IDS = DEVICES.map((device) => String(device.id));

interface Slice {
  page: number;
  limit: number;
  data: { id: number }[];
}

/** Serves the devices page by page, each page worded by `shape`. */
function serving(shape: (slice: Slice) => unknown, largestLimit = 100): (call: Received) => Reply {
  return (call) => {
    const query = new URL(call.url, 'http://cloud.test').searchParams;
    const page = Number(query.get('page'));
    const limit = Math.min(Number(query.get('limit')), largestLimit);
    return { json: shape({ page, limit, data: DEVICES.slice((page - 1) * limit, page * limit) }) };
  };
}

async function listWith(
  script: (call: Received) => Reply,
): Promise<{ ids: (string | undefined)[]; calls: number }> {
  await using cloud = await startTestClient(script);
  const devices = await Array.fromAsync(cloud.client.devices.list());
  return { ids: devices.map((device) => device.id), calls: cloud.received.length };
}

test('pages that tell the total of items are read to the end and no further', async () => {
  const nested = serving(({ data }) => ({ pagination: { total: 230 }, data }));
  expect(await listWith(nested)).toEqual({ ids: IDS, calls: 3 });
});

test('pages that tell how many pages there are, too', async () => {
  const flat = serving(({ page, data }) => ({
    page,
    count: data.length,
    total_pages: 3,
    total_count: 230,
    data,
  }));
  expect(await listWith(flat)).toEqual({ ids: IDS, calls: 3 });
});

test('a cloud that gives smaller pages than asked for loses nothing', async () => {
  const nested = serving(({ data }) => ({ pagination: { total: 230 }, data }), 50);
  expect(await listWith(nested)).toEqual({ ids: IDS, calls: 5 });
});

test('pages that tell no total end with the first that is not full', async () => {
  expect(await listWith(serving(({ data }) => ({ data })))).toEqual({ ids: IDS, calls: 3 });
});

test('a total that is never reached ends with the first empty page', async () => {
  const wrong = serving(({ data }) => ({ pagination: { total: 999 }, data }));
  expect(await listWith(wrong)).toEqual({ ids: IDS, calls: 4 });
});

test('a bare array is the whole list', async () => {
  expect(await listWith(() => ({ json: DEVICES }))).toEqual({ ids: IDS, calls: 1 });
});

test('pages are fetched only as far as they are consumed', async () => {
  await using cloud = await startTestClient(serving(({ data }) => ({ pagination: { total: 230 }, data })));
  for await (const device of cloud.client.devices.list()) {
    if (device.id === '150') break;
  }
  expect(cloud.received).toHaveLength(2);
});

test('an item that lacks what we need is named by its place', async () => {
  await using cloud = await startTestClient(() => ({
    json: { pagination: { total: 2 }, data: [{ id: 1 }, { id: 1.5 }] },
  }));
  await expect(Array.fromAsync(cloud.client.devices.list())).rejects.toThrow(/data\[1\]\.id/);
});
