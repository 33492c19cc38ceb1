import { hash } from 'node:crypto';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Message } from '../../../../src/forward/sender.ts';
import { s3Options } from '../../../../src/forward/senders/s3/s3-options.ts';
import { createS3Sender } from '../../../../src/forward/senders/s3/s3.ts';
import { storedEvent, untilTestEnds } from '../messages.ts';
import { startS3 } from '../s3-server.ts';
import { standIn } from '../../../support/stand-in.ts';

let server: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  server = await startS3();
});
afterAll(() => server[Symbol.asyncDispose]());

/** An event of the log: its number is its position. */
function logged(position: number, more: Partial<Message['event']> = {}): Message {
  const event = { ...storedEvent(position), position, ...more };
  return { event, text: JSON.stringify({ event_id: event.eventId, number: position }) };
}

const senderOf = (more: object = {}) =>
  untilTestEnds(createS3Sender(s3Options.parse({ ...server.options, ...more })));

test('a batch becomes objects by source, type and hour, and a manifest that proves their bytes', async () => {
  const prefix = 'first/';
  const sender = senderOf({ prefix });
  const batch = [
    logged(1),
    logged(2, { source: 'büro/nord' }),
    logged(3, { messageType: 'SMS_LOG_ALL', family: 'log' }),
    logged(4, { occurredAt: '2026-05-04T04:00:00.000Z' }),
    logged(5),
  ];
  expect(await sender.send(batch)).toEqual([]);
  const [manifest] = await server.manifests(prefix);
  expect(manifest).toMatchObject({ first_position: 1, last_position: 5, events: 5, previous: null });
  const folders = manifest?.objects.map(({ key }) => key.slice(prefix.length, key.lastIndexOf('/') + 1));
  expect(folders).toEqual([
    'source=default/type=AUDIT_LOG_ALL/date=2026-05-04/hour=03/',
    'source=b%C3%BCro%2Fnord/type=AUDIT_LOG_ALL/date=2026-05-04/hour=03/',
    'source=default/type=SMS_LOG_ALL/date=2026-05-04/hour=03/',
    'source=default/type=AUDIT_LOG_ALL/date=2026-05-04/hour=04/',
  ]);
  for (const { key, sha256, bytes } of manifest?.objects ?? []) {
    const body = await server.read(key);
    expect({ sha256: hash('sha256', body), bytes: body.length }).toEqual({ sha256, bytes });
  }
  const [first] = manifest?.objects ?? [];
  expect(first?.key).toMatch(/\/0000000000001-0000000000005-[0-9a-f]{16}\.ndjson\.gz$/);
  expect(await server.lines(first?.key ?? '')).toEqual([batch[0]?.text, batch[4]?.text]);
});

test('each manifest names the one before, also of an earlier process; a batch that is resent has the same objects', async () => {
  const prefix = 'chain/';
  const batches = [[logged(1)], [logged(2), logged(3)], [logged(4)]];
  for (const batch of batches) {
    const sender = senderOf({ prefix });
    await sender.send(batch);
  }
  const chain = await server.manifests(prefix);
  expect(chain.map(({ last_position: last }) => last)).toEqual([1, 3, 4]);
  for (const [index, { previous }] of chain.entries()) {
    const before = chain[index - 1];
    const sha256 = before && hash('sha256', await server.read(before.key));
    expect(previous).toEqual(before === undefined ? null : { key: before.key, sha256 });
  }
  const objects = (await server.keys(`${prefix}source`)).length;
  const again = senderOf({ prefix });
  await again.send(batches[2] ?? []);
  expect(await server.keys(`${prefix}source`)).toHaveLength(objects);
});

test('Parquet has the envelope as typed columns and the event as JSON', async () => {
  const prefix = 'parquet/';
  const sender = senderOf({ prefix, encoding: 'parquet' });
  const batch = Array.from({ length: 1_200 }, (_, index) =>
    logged(index + 1, { ownerId: '9007199254740993', orgId: null }),
  );
  await sender.send(batch);
  const [key = ''] = await server.keys(`${prefix}source`);
  const body = await server.read(key);
  const file = new Uint8Array(body).buffer;
  const { schema, row_groups: groups } = parquetMetadata(file);
  const types = schema.map(({ name, logical_type: type }) => [name, type]);
  expect(Object.fromEntries(types)).toMatchObject({
    event_id: { type: 'STRING' },
    occurred_at: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    received_at: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  });
  const withStatistics = groups.map(({ columns }) =>
    columns
      .filter(({ meta_data: data }) => data?.statistics)
      .map(({ meta_data: data }) => data?.path_in_schema[0]),
  );
  // A text of an event as its least or greatest value would be of no use.
  const all = schema.slice(1).map(({ name }) => name);
  expect(withStatistics).toEqual(Array(3).fill(all.filter((name) => name !== 'event')));
  const rows = await parquetReadObjects({ file });
  expect(rows).toHaveLength(1_200);
  expect(rows[1_199]).toMatchObject({
    position: 1_200n,
    event_id: batch[1_199]?.event.eventId,
    source: 'default',
    message_type: 'AUDIT_LOG_ALL',
    occurred_at: new Date('2026-05-04T03:02:01.123Z'),
    owner_id: 9_007_199_254_740_993n,
    org_id: null,
    origin: 'webhook',
    event: batch[1_199]?.text,
  });
  // One by itself has no position.
  await sender.send([{ event: storedEvent(7), text: '{}' }]);
  const [single = ''] = await server.keys(`${prefix}single`);
  const bytes = new Uint8Array(await server.read(single));
  expect(await parquetReadObjects({ file: bytes.buffer })).toMatchObject([{ position: null, owner_id: 1n }]);
});

test('a large object is uploaded in parts, and is whole', async () => {
  const prefix = 'large/';
  const sender = senderOf({ prefix });
  const noise = () => Array.from({ length: 2_500 }, () => Math.random().toString(36)).join('');
  const batch = Array.from({ length: 350 }, (_, index) => ({ ...logged(index + 1), text: `"${noise()}"` }));
  await sender.send(batch);
  const [manifest] = await server.manifests(prefix);
  const [object] = manifest?.objects ?? [];
  expect(object?.bytes).toBeGreaterThan(6_000_000);
  expect(await server.lines(object?.key ?? '')).toEqual(batch.map(({ text }) => text));
});

test('an event that is sent by itself is beside the others, and in no manifest', async () => {
  const prefix = 'test/';
  const sender = senderOf({ prefix });
  await sender.send([{ event: storedEvent(7), text: '{}' }]);
  const keys = await server.keys(prefix);
  expect(keys).toEqual([expect.stringMatching(/^test\/single\/[0-9a-f]{16}\.ndjson\.gz$/)]);
});

test('each object has a checksum, without which a bucket with Object Lock refuses it', async () => {
  await using locked = await standIn(({ url }) =>
    url.includes('list-type') ? { raw: '<ListBucketResult/>' } : { headers: { etag: '"x"' } },
  );
  const sender = senderOf({ endpoint: locked.url });
  await sender.send([logged(1)]);
  const stored = locked.received.filter(({ url }) => !url.includes('list-type'));
  expect(stored.map(({ headers }) => headers['content-md5'])).toEqual([
    expect.stringMatching(/==$/),
    hash('md5', stored[1]?.body ?? '', 'base64'),
  ]);
});
