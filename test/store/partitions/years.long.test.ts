import { sql } from 'kysely';
import { pino } from 'pino';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { BatchStore } from '../../../src/handlers/store-batch.ts';
import { isDifference } from '../../../src/seal/verify/finding.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { addMonths } from '../../../src/store/partitions/partitioned-tables.ts';
import { countAll } from '../../support/arrivals.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { openSealedLog } from '../../support/sealed-log.ts';
import { useDatabase } from '../../support/use-database.ts';

const EVENTS = 92_000;
const MONTHS = 24;
const NOW = new Date();
const FIRST = addMonths(NOW, -MONTHS).getTime();
const RECORDS = 500;
/** No time of an event. */
const WRONG = Date.UTC(1980, 0, 1);

const fresh = useDatabase();
const test = useDatabase();

const createStore = (db: Db) => new BatchStore(db, pino({ level: 'silent' }), new AbortController().signal);

/** Stores events of two years, as deliveries of 500 records do, eight at a time. Returns how many a second. */
async function importYears(db: Db, code: number): Promise<number> {
  const store = createStore(db);
  const began = performance.now();
  const step = (NOW.getTime() - FIRST) / EVENTS;
  for (let from = 0; from < EVENTS; from += 8 * RECORDS) {
    const deliveries = Array.from({ length: 8 }, (_, place) =>
      queuedDelivery(
        'AUDIT_LOG_ALL',
        Array.from(
          { length: Math.max(0, Math.min(RECORDS, EVENTS - from - place * RECORDS)) },
          (__, index) => {
            const number = from + place * RECORDS + index;
            return auditRecord({ code, userId: number, timeStamp: Math.floor(FIRST + number * step) });
          },
        ),
      ),
    ).filter(({ recordCount }) => recordCount > 0);
    await Promise.all(deliveries.map((delivery) => store.add({ deliveries: [delivery] })));
  }
  return Math.round(EVENTS / ((performance.now() - began) / 1000));
}

/** How many events each partition has, and how many of them are not of its month. */
async function countPartitions(db: Db) {
  const { rows } = await sql<{ partition: string; events: number; strange: number }>`
    select tableoid::regclass::text as partition, count(*)::int as events, count(*) filter (
        where tableoid::regclass::text <> to_char(occurred_at at time zone 'UTC', '"audit_events_"YYYY_MM'))::int as strange
      from audit_events group by 1 order by 1`.execute(db);
  return rows;
}

const inDefault = (rows: Awaited<ReturnType<typeof countPartitions>>) =>
  rows.find(({ partition }) => partition === 'audit_events_default')?.events ?? 0;

it('an import of two years comes to its months, at the pace of any other', { timeout: 300_000 }, async () => {
  const first = await importYears(fresh.service, 1);
  const again = await importYears(fresh.service, 2);
  process.stdout.write(`import of ${MONTHS} months: ${first} events/s, with all months there ${again}\n`);
  const rows = await countPartitions(fresh.db);
  expect(inDefault(rows)).toBe(0);
  expect(rows.map(({ strange }) => strange)).toEqual(rows.map(() => 0));
  expect(rows.length).toBeGreaterThanOrEqual(MONTHS);
  expect(first).toBeGreaterThan(again / 2);
});

it(
  'years in the default partition move while others store, verify, and expire',
  { timeout: 600_000 },
  async () => {
    const log = await openSealedLog(test.service);
    // The months cannot be created while somebody reads: events are stored all the same.
    const reader = new Client({ connectionString: test.adminUrl });
    await reader.connect();
    await reader.query('begin');
    await reader.query('select from audit_events_default');
    await importYears(test.service, 3);
    await reader.end();
    const before = await countPartitions(test.db);
    expect(inDefault(before)).toBeGreaterThan(EVENTS * 0.8);
    await countAll(test.db);
    await log.seal();

    // One stores what arrives, and what is older than all partitions, until everything has moved.
    const storing = createStore(test.service);
    const done = new AbortController();
    let longest = 0;
    let stored = 0;
    const client = async () => {
      for (; !done.signal.aborted; stored += 2) {
        const began = performance.now();
        const records = [auditRecord({ userId: stored }), auditRecord({ userId: stored, timeStamp: WRONG })];
        await storing.add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
        longest = Math.max(longest, performance.now() - began);
      }
    };
    const clients = client();
    const began = performance.now();
    // Autovacuum may hold a month for longer than maintenance waits, which then says so and goes on at the next call.
    let moved = await maintainPartitions(test.service, NOW, {});
    const created = [...moved.created];
    while (moved.blocked.length > 0 && performance.now() - began < 120_000) {
      expect(moved.blocked.flatMap(({ by }) => by).filter(({ user }) => user !== null)).toEqual([]);
      moved = await maintainPartitions(test.service, NOW, {});
      created.push(...moved.created);
    }
    const seconds = (performance.now() - began) / 1000;
    done.abort();
    await clients;
    process.stdout.write(
      `${inDefault(before)} events of ${created.length} months moved in ${seconds.toFixed(1)} s; ` +
        `${stored} stored meanwhile, which took ${Math.round(longest)} ms at most\n`,
    );
    expect(moved.blocked).toEqual([]);
    expect(moved.inDefault).toMatchObject([{ partition: 'audit_events_default', last: new Date(WRONG) }]);
    const after = await countPartitions(test.db);
    expect(after.reduce((sum, { events }) => sum + events, 0)).toBe(
      before.reduce((sum, { events }) => sum + events, 0) + stored,
    );
    expect(longest).toBeLessThan(1_000);
    await countAll(test.db);
    await log.seal();
    expect((await log.verify()).findings.filter(isDifference)).toEqual([]);

    const { dropped } = await maintainPartitions(test.service, NOW, { audit: 12 });
    // With the month of 1980, which only retention opens.
    expect(dropped).toHaveLength(MONTHS - 12 + 1);
    const { rows } = await sql`
    select from audit_events where occurred_at < ${addMonths(NOW, -12)} limit 1`.execute(test.db);
    expect(rows).toEqual([]);
    await log.seal();
    expect((await log.verify()).findings.filter(isDifference)).toEqual([]);
  },
);
