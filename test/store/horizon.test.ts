import { sql } from 'kysely';
import { Client, DatabaseError } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inSavepoint } from '../../src/store/database.ts';
import { findLongStoring, readHorizon } from '../../src/store/horizon.ts';
import { readStretch } from '../../src/store/read-events.ts';
import { openLog, readRange } from '../../src/store/read-log.ts';
import { rollUpArrivals } from '../../src/store/roll-up-arrivals.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { describeWork } from '../../src/store/server-sessions.ts';
import { createTestDatabase, emptyTables } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { untilSeen } from '../support/until-seen.ts';

let test: TestDatabase;
const clients: Client[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ logs: true });
});
beforeEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await emptyTables(test.db);
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await test.drop();
});

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: test.databaseUrl, application_name: 'horizon test' });
  await client.connect();
  clients.push(client);
  return client;
}

const INSERT = `insert into audit_events
  (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
  select now(), now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', '{}'
  from generate_series(1, 100)`;

const INSERT_DELIVERY = `insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count,
    event_count, duplicate_count, quarantined_count, source, message_type, origin)
  values (gen_random_uuid(), now(), 1, 50, 50, 50, 0, 0, 's', 'AUDIT_LOG_ALL', 'webhook')`;

const DELAY = 'select pg_sleep(random() * 0.004)';

/** Transactions as they occur: statement by statement, with a random delay between two. */
const TRANSACTIONS: readonly (readonly string[])[] = [
  // As this program stores.
  ['begin', 'select begin_storing()', INSERT, INSERT_DELIVERY, 'commit'],
  [
    'begin',
    'select begin_storing()',
    'savepoint a',
    INSERT,
    'rollback to a',
    INSERT,
    INSERT_DELIVERY,
    'commit',
  ],
  ['begin', 'select begin_storing()', INSERT, 'rollback'],
  // As an administrator inserts by hand.
  [INSERT],
  ['begin', INSERT, INSERT_DELIVERY, 'commit'],
  ['begin', 'savepoint a', INSERT, 'release a', INSERT, 'commit'],
  // These got their transaction id before they began to store: the insert is refused.
  ['begin', 'select pg_current_xact_id()', INSERT, INSERT_DELIVERY, 'commit'],
  ['begin', 'savepoint a', INSERT, 'rollback to a', INSERT, 'commit'],
  ['begin', 'savepoint a', 'select begin_storing()', 'rollback to a', INSERT_DELIVERY, 'commit'],
];

/** Readers with a transaction id of their own, which nobody waits for. */
const READERS: readonly (readonly string[])[] = [
  ['begin', 'select pg_current_xact_id()', 'select count(*) from audit_events', 'commit'],
  ['begin', 'create temporary table t on commit drop as select 1', 'savepoint a', 'select 1', 'rollback'],
];

/** SQLSTATE object_not_in_prerequisite_state: how an insert ends that the order of storing refuses. */
const REFUSED = '55000';

/** Runs the transactions in turn, so many times. A refused one is rolled back. Returns the number of refusals. */
async function run(
  transactions: readonly (readonly string[])[],
  rounds: number,
  offset: number,
): Promise<number> {
  const client = await connect();
  let refused = 0;
  for (let round = 0; round < rounds; round += 1) {
    try {
      for (const statement of transactions[(round + offset) % transactions.length] ?? []) {
        await client.query(statement);
        await client.query(DELAY);
      }
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== REFUSED) throw error;
      await client.query('rollback');
      refused += 1;
    }
  }
  return refused;
}

describe('those who follow the events', () => {
  it(
    'miss none and get none twice, whatever writers and readers do meanwhile',
    { timeout: 240_000 },
    async () => {
      const seen: string[] = [];
      const log = openLog(test.db);
      let position = 0;
      const writing = new AbortController();
      const follow = async () => {
        for (;;) {
          const wasWriting = !writing.signal.aborted;
          if (!wasWriting) await untilSeen(test.db);
          const { events, end = position } = await readStretch(log, ALL_SOURCES, position, 3_000);
          const before = seen.length;
          for (const { eventId } of events) seen.push(eventId);
          position = end;
          if (!wasWriting && seen.length === before) return;
        }
      };
      const count = async () => {
        while (!writing.signal.aborted) await rollUpArrivals(test.db);
        await rollUpArrivals(test.db);
      };
      const following = Promise.all([follow(), count()]);
      const reading = [0, 1, 2].map((offset) => run(READERS, 150, offset));
      const refusals = await Promise.all(
        Array.from({ length: 10 }, (_, offset) => run(TRANSACTIONS, 153, offset)),
      );
      await Promise.all(reading);
      writing.abort();
      await following;

      const { rows } = await sql<{ event_id: string }>`select event_id from audit_events`.execute(test.db);
      expect(rows.length).toBeGreaterThanOrEqual(100_000);
      expect(seen.length).toBe(rows.length);
      expect(new Set(seen)).toEqual(new Set(rows.map((row) => row.event_id)));
      const sums = await sql<{ stored: string; counted: string }>`
      select (select count(*) from deliveries) as stored, (select sum(deliveries) from arrivals) as counted
    `.execute(test.db);
      expect(sums.rows[0]?.counted).toBe(sums.rows[0]?.stored);
      expect(refusals.every((refused) => refused === 51)).toBe(true);
    },
  );

  it('wait for a transaction that stores', async () => {
    const { next: position } = await readRange(test.db);
    const [first, second] = [await connect(), await connect()];
    await first.query('begin');
    await first.query(INSERT);
    await second.query(INSERT);
    const read = async () => [...(await readStretch(openLog(test.db), ALL_SOURCES, position, 1_000)).events];
    expect(await read()).toEqual([]);
    await first.query('commit');
    await untilSeen(test.db);
    expect(await read()).toHaveLength(200);
  });

  it('do not wait for a transaction that has an id and reads, nor for one in another database', async () => {
    const other = await createTestDatabase();
    const elsewhere = new Client({ connectionString: other.databaseUrl });
    await elsewhere.connect();
    const reader = await connect();
    await elsewhere.query('begin');
    await elsewhere.query(INSERT);
    await reader.query('begin');
    await reader.query('select pg_current_xact_id(), count(*) from audit_events');
    const { next: position } = await readRange(test.db);
    await (await connect()).query(INSERT);
    await untilSeen(test.db);
    const { events } = await readStretch(openLog(test.db), ALL_SOURCES, position, 1_000);
    expect([...events]).toHaveLength(100);
    await reader.query('rollback');
    await elsewhere.end();
    await other.drop();
  });

  it('have an end that lies at or before the id of every transaction that will still store', async () => {
    const writer = await connect();
    await writer.query('begin');
    await writer.query('select begin_storing()');
    const { rows } = await writer.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
    for (let later = 0; later < 3; later += 1)
      await test.db.transaction().execute((trx) => sql`select pg_current_xact_id()`.execute(trx));
    expect(await readHorizon(test.db)).toBe(rows[0]?.xid);
    await writer.query('rollback');
    expect(BigInt(await readHorizon(test.db))).toBeGreaterThan(BigInt(rows[0]?.xid ?? 0));
  });
});

describe('a transaction that stores for long', () => {
  it('is named, with what it does', async () => {
    const writer = await connect();
    expect(await findLongStoring(test.db, 0)).toEqual([]);
    await writer.query('begin');
    await writer.query(INSERT);
    const [session] = await findLongStoring(test.db, 0);
    expect(session).toMatchObject({ application: 'horizon test', state: 'idle in transaction' });
    expect(session && describeWork(session)).toMatch(
      /^pid \d+ \(horizon test, user \w+\), in a transaction for \d s; idle in transaction: insert into audit_events/,
    );
    expect(await findLongStoring(test.db, 10)).toEqual([]);
    await writer.query('rollback');
  });
});

describe('an insert', () => {
  it.each(['audit_events', 'deliveries'])(
    'into %s is refused after the transaction has got its id, also by a session that fires no triggers',
    async (table) => {
      const insert = table === 'deliveries' ? INSERT_DELIVERY : INSERT;
      for (const role of ['origin', 'replica']) {
        const storing = test.db.transaction().execute(async (trx) => {
          await sql`select set_config('session_replication_role', ${role}, true)`.execute(trx);
          await sql`select pg_current_xact_id()`.execute(trx);
          await sql.raw(insert).execute(trx);
        });
        await expect(storing).rejects.toThrow('got its transaction id before it began to store');
      }
    },
  );

  it('straight into a partition is refused too', async () => {
    const { rows } = await sql<{ name: string }>`
      select relid::regclass::text as name from pg_partition_tree('audit_events') where isleaf`.execute(
      test.db,
    );
    expect(rows.length).toBeGreaterThan(4);
    for (const { name } of rows) {
      const storing = test.db.transaction().execute(async (trx) => {
        await sql`select pg_current_xact_id()`.execute(trx);
        await sql`insert into ${sql.id(name)} select * from audit_events where false`.execute(trx);
      });
      await expect(storing).rejects.toThrow('got its transaction id before it began to store');
    }
  });

  it('may fail in a savepoint and be repeated, once the transaction has begun to store', async () => {
    await test.db.transaction().execute(async (trx) => {
      await sql`select begin_storing()`.execute(trx);
      const failing = inSavepoint(trx, async () => {
        await sql.raw(INSERT).execute(trx);
        await sql`select 1 / 0`.execute(trx);
      });
      await expect(failing).rejects.toThrow('division by zero');
      await sql.raw(INSERT).execute(trx);
    });
    const { rows } = await sql`select from audit_events`.execute(test.db);
    expect(rows).toHaveLength(100);
  });
});
