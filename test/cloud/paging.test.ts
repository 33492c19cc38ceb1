import { expect, test } from 'vitest';
import type { Received, Reply } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';

const RECORDS = Array.from({ length: 230 }, (_, index) => ({ id: index + 1 }));
const IDS = RECORDS.map(({ id }) => id);

const QUERY = { kind: 'sms', from: 0, to: 1 } as const;

interface Slice {
  page: number;
  limit: number;
  data: { id: number }[];
}

/** Serves the records page by page, each page worded by `shape`. */
function serving(shape: (slice: Slice) => unknown, largestLimit = 100): (call: Received) => Reply {
  return (call) => {
    const query = new URL(call.url, 'http://cloud.test').searchParams;
    const page = Number(query.get('page'));
    const limit = Math.min(Number(query.get('limit')), largestLimit);
    return { json: shape({ page, limit, data: RECORDS.slice((page - 1) * limit, page * limit) }) };
  };
}

async function listWith(
  script: (call: Received) => Reply,
): Promise<{ ids: (string | number)[]; calls: number }> {
  await using cloud = await startTestClient(script);
  const records = await Array.fromAsync(cloud.client.logs.read(QUERY));
  return { ids: records.map(({ id }) => id), calls: cloud.received.length };
}

const nested = (total: number) => serving(({ data }) => ({ pagination: { total }, data }));

const flat = ({ page, data }: Slice) => ({
  page,
  count: data.length,
  total_pages: 3,
  total_count: 230,
  data,
});

test.each<[string, (call: Received) => Reply, number]>([
  ['pages that tell the total of items', nested(230), 3],
  ['pages that tell how many pages there are', serving(flat), 3],
  ['smaller pages than asked for', serving(({ data }) => ({ pagination: { total: 230 }, data }), 50), 5],
  ['pages that tell no total, up to the first empty one', serving(({ data }) => ({ data })), 4],
  ['a bare array', () => ({ json: RECORDS }), 1],
  ['arrays of one page each', serving((slice) => [flat(slice)]), 3],
  [
    'arrays of one page each that tell only the number of pages',
    serving(({ page, data }) => [{ page, total_pages: 3, data }]),
    3,
  ],
  [
    'pages of another form each',
    serving((slice) => {
      if (slice.page === 1) return [flat(slice)];
      return slice.page === 2 ? { pagination: { total: 230 }, data: slice.data } : flat(slice);
    }),
    3,
  ],
])('%s are read to the end and no further', async (_form, script, calls) => {
  expect(await listWith(script)).toEqual({ ids: IDS, calls });
});

test('an array of all pages is the whole list', async () => {
  const pages = [0, 100, 200].map((start, index) =>
    flat({ page: index + 1, limit: 100, data: RECORDS.slice(start, start + 100) }),
  );
  expect(await listWith(() => ({ json: pages }))).toEqual({ ids: IDS, calls: 1 });
  const uncounted = pages.map(({ total_count: _total, ...page }) => page);
  expect(await listWith(() => ({ json: uncounted }))).toEqual({ ids: IDS, calls: 1 });
});

test.each([
  ['bare array', []],
  ['page without data', { page: 1, count: 0, total_pages: 0, total_count: 0 }],
  ['array of a page without data', [{ page: 1, count: 0, total_pages: 0, total_count: 0 }]],
  ['page with pagination', { pagination: { total: 0 }, data: [] }],
])('an empty list is empty in each form: %s', async (_form, json) => {
  expect(await listWith(() => ({ json }))).toEqual({ ids: [], calls: 1 });
});

test.each<[string, (call: Received) => Reply]>([
  ['a total that is never reached', nested(999)],
  ['a total below a full page', nested(100)],
  [
    'the first page as every page',
    serving(({ limit }) => flat({ page: 1, limit, data: RECORDS.slice(0, limit) })),
  ],
  [
    'the first page as every page, without a total',
    serving(({ limit }) => ({ data: RECORDS.slice(0, limit) })),
  ],
  [
    'empty pages after the first',
    serving(({ page, data }) => flat({ page, limit: 100, data: page > 1 ? [] : data })),
  ],
])('%s makes a list incomplete, after what it has', async (_fault, script) => {
  await using cloud = await startTestClient(script);
  let read = 0;
  const reading = async () => {
    for await (const _record of cloud.client.logs.read(QUERY)) read += 1;
  };
  await expect(reading()).rejects.toMatchObject({ isIncomplete: true });
  expect(read).toBeGreaterThanOrEqual(100);
});

test('pages are fetched only as far as they are consumed', async () => {
  await using cloud = await startTestClient(nested(230));
  for await (const { id } of cloud.client.logs.read(QUERY)) {
    if (id === 150) break;
  }
  expect(cloud.received).toHaveLength(2);
});

test('an item that lacks what we need is named by its place', async () => {
  await using cloud = await startTestClient(() => ({
    json: { pagination: { total: 2 }, data: [{ id: 1 }, { id: 1.5 }] },
  }));
  await expect(Array.fromAsync(cloud.client.logs.read(QUERY))).rejects.toThrow(
    /expected int, .* at \[1\]\.id of the list/,
  );
});
