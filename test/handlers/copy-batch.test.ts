import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MESSAGE_TYPES, WEBHOOK_TYPES } from '../../src/events/domain.ts';
import { runTransaction } from '../../src/handlers/run-transaction.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { storeDeliveries } from '../../src/handlers/store-deliveries.ts';
import { UNOBSERVED } from '../../src/queue/delivery-observer.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { MonthsOnDemand } from '../../src/store/partitions/months-on-demand.ts';
import { openLimited, type Db } from '../../src/store/server/database.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { waitFor } from '../support/wait-for.ts';
import { SAMPLES } from './samples.ts';

const logger = pino({ level: 'silent' });
const forever = new AbortController().signal;

const test = useDatabase({ forEach: true });

/** Writes down the statement of each insert into `audit_events`, also of one that fails: a sequence is not undone. */
async function countCopies(db: Db) {
  await sql`
    create sequence copies;
    create sequence inserts;
    create function count_it() returns trigger language plpgsql security definer as $$
      begin
        perform nextval(case when current_query() like '%copy audit_events%' then 'copies'::regclass else 'inserts' end);
        return null;
      end $$;
    create trigger count_it before insert on audit_events for each statement execute function count_it()`.execute(
    db,
  );
  return async () => {
    const { rows } = await sql<{ copies: number; inserts: number }>`
      select coalesce(pg_sequence_last_value('copies'), 0)::integer as copies,
             coalesce(pg_sequence_last_value('inserts'), 0)::integer as inserts`.execute(db);
    return rows[0];
  };
}

const counts = async (db: Db) => {
  const { rows } = await sql<Record<string, number>>`
    select expected_count as expected, event_count as events, duplicate_count as duplicates, quarantined_count as quarantined
    from deliveries order by delivery_id`.execute(db);
  return rows;
};

const count = (expected: number, events: number, duplicates: number, quarantined = 0) => ({
  expected,
  events,
  duplicates,
  quarantined,
});

let lastId = 0;
const newRecord = () => auditRecord({ id: (lastId += 1) });
const delivery = (...records: object[]) => queuedDelivery('AUDIT_LOG_ALL', records);

/** Text that is not what it looks like in the format of COPY, or in an array. */
const ODD_TEXTS = [
  '',
  '\\N',
  '\\.',
  '\\',
  'tab\tline\nreturn\rbackspace\bfeed\fvertical\vend',
  'C:\\temp\\new "quoted" {a,b} NULL',
  '\u0001\u007F\u2028 é 日本 🎉',
  'NULL',
];

const everything = (): QueuedDelivery[] => [
  ...SAMPLES.map(({ messageType, record }) => queuedDelivery(messageType, [record])),
  delivery(
    ...ODD_TEXTS.map((text) =>
      auditRecord({
        description: text,
        userName: text,
        hostNames: [text, 'x'],
        config: { [text]: text },
        [text]: [text],
      }),
    ),
  ),
  delivery(),
];

/** All that is stored, without what differs between two databases. */
async function contents(db: Db) {
  const tables = ['audit_events', 'location_observations', 'log_entries', 'alerts_received', 'other_events'];
  const events = tables.map(async (table) => {
    const { rows } = await sql`
      select to_jsonb(t) - 'id' - 'xid' as row from ${sql.table(table)} t order by event_id`.execute(db);
    return rows;
  });
  const { rows: deliveries } = await sql`
    select to_jsonb(d) - 'xid' - 'stored_at' as row, xid is not null as has_xid from deliveries d order by delivery_id`.execute(
    db,
  );
  return [...(await Promise.all(events)), deliveries];
}

describe('storing by COPY', () => {
  it('stores the same as by inserts, of each message type and whatever the text', async () => {
    const other = await databaseForTest();
    const read = await countCopies(test.db);
    const deliveries = everything();
    const copied = await new BatchStore(test.db, logger, forever).add({ deliveries });
    const months = new MonthsOnDemand();
    await runTransaction({ db: other.db, logger, giveUp: forever }, (trx, isolate) =>
      storeDeliveries(trx, deliveries, isolate, months),
    );
    expect(await read()).toEqual({ copies: 1, inserts: 0 });
    const stored = await contents(test.db);
    expect(stored).toEqual(await contents(other.db));
    expect(stored.map((rows) => rows.length)).toEqual([
      1 + ODD_TEXTS.length,
      2,
      WEBHOOK_TYPES.length - 3,
      1,
      1,
      deliveries.length,
    ]);
    expect(copied).toEqual({
      deliveries: deliveries.length,
      events: MESSAGE_TYPES.length + ODD_TEXTS.length,
      duplicates: 0,
      quarantined: 0,
    });
  });

  it('gives way to inserts when something is stored already, longer each time, and comes back', async () => {
    const read = await countCopies(test.db);
    const store = new BatchStore(test.db, logger, forever);
    const known = newRecord();
    const first = delivery(known);
    await store.add({ deliveries: [first] });
    expect(await read()).toEqual({ copies: 1, inserts: 0 });

    // The first one in two deliveries, and a new one, beside a delivery that is stored already.
    const again = [delivery(known, newRecord()), first, delivery(known)];
    expect(await store.add({ deliveries: again })).toEqual({
      deliveries: 2,
      events: 1,
      duplicates: 2,
      quarantined: 0,
    });
    expect(await counts(test.db)).toEqual([count(1, 1, 0), count(2, 1, 1), count(1, 0, 1)]);
    expect(await read()).toEqual({ copies: 2, inserts: 1 });

    await store.add({ deliveries: [delivery(newRecord())] });
    expect(await read()).toEqual({ copies: 2, inserts: 2 });
    await store.add({ deliveries: [delivery(known)] });
    expect(await read()).toEqual({ copies: 3, inserts: 3 });
    for (const inserts of [4, 5, 6]) {
      await store.add({ deliveries: [delivery(newRecord())] });
      expect(await read()).toEqual({ copies: 3, inserts });
    }
    await store.add({ deliveries: [delivery(newRecord())] });
    expect(await read()).toEqual({ copies: 4, inserts: 6 });
  });

  it('is not for what goes to quarantine', async () => {
    const read = await countCopies(test.db);
    const store = new BatchStore(test.db, logger, forever);
    const records = JSON.stringify([newRecord(), 7]);
    await store.add({
      deliveries: [delivery(newRecord()), queuedDelivery('AUDIT_LOG_ALL', [], { records })],
    });
    expect(await counts(test.db)).toEqual([count(1, 1, 0), count(2, 1, 0, 1)]);
    expect(await read()).toEqual({ copies: 0, inserts: 1 });
  });

  it('is not for more than 4 MiB, all of which would be in memory', async () => {
    const read = await countCopies(test.db);
    const deliveries = Array.from({ length: 5 }, () =>
      delivery({ ...newRecord(), description: 'x'.repeat(1024 * 1024) }),
    );
    await new BatchStore(test.db, logger, forever).add({ deliveries });
    expect(await read()).toMatchObject({ copies: 0 });
  });

  it('waits for the end of an outage, and then stores by inserts', async () => {
    const read = await countCopies(test.db);
    await test.query`create function fail_it() returns trigger language plpgsql as $$
      begin raise exception 'full' using errcode = '53100'; end $$;
      create trigger fail_it before insert on deliveries for each statement execute function fail_it()`;
    const reasons: string[] = [];
    const observer = {
      ...UNOBSERVED,
      waiting: (_lane: unknown, reason: string) => void reasons.push(reason),
    };
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const store = new BatchStore(test.db, pino({ level: 'warn' }, { write }), forever, { observer });
    const done = store.add({ deliveries: [delivery(newRecord())] });
    await waitFor(() => reasons.length >= 3);
    expect(lines).toEqual([expect.stringContaining('waiting for the database (disk full): full')]);
    expect(new Set(reasons)).toEqual(new Set(['disk full: full']));
    await test.query`drop trigger fail_it on deliveries`;
    expect(await done).toMatchObject({ deliveries: 1, events: 1 });
    expect(await read()).toMatchObject({ copies: 1 });
  });

  it.skipIf(!hasPgbouncer())('works through a pooler, also when it fails (needs pgbouncer)', async () => {
    const pooler = await startPgbouncer({
      mode: 'transaction',
      urls: [test.databaseUrl],
      settings: { default_pool_size: '1' },
    });
    onTestFinished(() => pooler.stop());
    const db = openLimited('storing', pooler.through(test.databaseUrl), () => undefined);
    onTestFinished(() => db.destroy());
    const read = await countCopies(test.db);
    // More than what fits into the buffers on the way, so that much is left over after the error.
    const records = Array.from({ length: 1_500 }, () => auditRecord({ id: 1, description: 'x'.repeat(500) }));
    const known = records.map((record, id) => ({ ...record, id }));
    for (const attempt of [1, 2, 3]) {
      const store = new BatchStore(db, logger, forever);
      expect(await store.add({ deliveries: [delivery(...known)] })).toMatchObject({
        events: attempt === 1 ? known.length : 0,
      });
      expect(await read()).toMatchObject({ copies: attempt });
    }
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }]);
  });
});
