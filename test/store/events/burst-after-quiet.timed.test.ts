import { sql, type RawBuilder } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { openLog } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { hashEvents, readingSealed, SEALED_VERSION } from '../../../src/store/seal/sealed-rows.ts';
import { useDatabase } from '../../support/use-database.ts';
import { untilSeen } from '../../support/until-seen.ts';

// The statistics of the server are of a quiet month. Then many events arrive within seconds.

const QUIET = 100_000;
const BURST = 20_000;
const BURST_AT = new Date('2026-03-24T00:00:00Z');
/** Events that are read or hashed: as many as the sealer hashes at a time. */
const MANY = 10_240;

const test = useDatabase();
beforeAll(async () => {
  await maintainPartitions(test.db, BURST_AT, { audit: undefined, location: undefined, log: undefined });
  await test.query`alter table audit_events_2026_03 set (autovacuum_enabled = false)`;
  await insert(QUIET, sql`${BURST_AT}::timestamptz - (n + 100) * interval '20 seconds'`);
  await test.query`vacuum analyze audit_events_2026_03`;
  await insert(BURST, sql`${BURST_AT}::timestamptz + n * interval '0.1 milliseconds'`);
  await untilSeen(test.db);
});

const insert = (rows: number, at: RawBuilder<unknown>) =>
  sql`
    insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
    select ${at}, ${at}, gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook',
      jsonb_build_object('description', repeat('x', 300))
    from generate_series(1, ${rows}::int) as n`.execute(test.db);

async function hash(from: number): Promise<void> {
  const { hashes } = await readingSealed(test.db, async (trx) =>
    hashEvents(trx, { from, to: from + MANY, version: SEALED_VERSION }, Buffer.alloc(16 * MANY)),
  );
  expect(hashes.length).toBe(32 * MANY);
}

async function read(from: number): Promise<void> {
  const log = openLog(test.db);
  let count = 0;
  for (let next = from; next < from + MANY;) {
    const { events, end } = await readSlice(log, ALL_SOURCES, next, from + MANY - next);
    count += [...events].length;
    next = end ?? Infinity;
  }
  expect(count).toBe(MANY);
}

async function msOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

it.each([
  ['hashing', hash],
  ['reading', read],
])('%s events of a burst takes about as long as those of the quiet month', async (_name, work) => {
  await work(0);
  const quiet = await msOf(() => work(MANY));
  const burst = await msOf(() => work(QUIET + BURST - MANY));
  expect(burst).toBeLessThan(10 * quiet);
});
