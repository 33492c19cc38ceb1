import { sql } from 'kysely';
import { Client, DatabaseError } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { rollUpArrivals } from '../../../src/store/counts/roll-up-arrivals.ts';
import { findLongStoring, readHorizon } from '../../../src/store/log/horizon.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { assignPositions } from '../../../src/store/log/extend-log.ts';
import { openLog, readRange } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { describeWork } from '../../../src/store/server/server-sessions.ts';
import { countAll } from '../../support/arrivals.ts';
import { emptyTables } from '../../support/database.ts';
import { databaseForTest } from '../../support/for-one-test.ts';
import { INSERT_DELIVERY, INSERT_EVENTS } from '../../support/stored-rows.ts';
import { runs } from '../../support/runs.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  await emptyTables(test.db);
});

async function connect(connectionString = test.databaseUrl): Promise<Client> {
  const client = new Client({ connectionString, application_name: 'horizon test' });
  await client.connect();
  clients.push(client);
  return client;
}

const STATEMENTS: Readonly<Record<string, string>> = {
  store: 'select begin_storing()',
  id: 'select pg_current_xact_id()',
  events: INSERT_EVENTS,
  delivery: INSERT_DELIVERY,
  savepoint: 'savepoint a',
  back: 'rollback to a',
  read: 'select count(*) from audit_events',
};

/** Transactions of this program, of an administrator by hand, and the last three, which are refused: they got their id too early. */
const WRITERS = [
  'begin store events delivery commit',
  'begin store savepoint events back events delivery commit',
  'begin store events rollback',
  'events',
  'begin events delivery commit',
  'begin savepoint events events commit',
  'begin id events delivery commit',
  'begin savepoint events back events commit',
  'begin savepoint store back delivery commit',
];

const READER = 'begin id read commit';

/** SQLSTATE object_not_in_prerequisite_state: how an insert ends that the order of storing refuses. */
const REFUSED = '55000';

/** Runs transactions in turn, with a random delay between two statements. Returns the number of those that were refused. */
async function runInTurn(transactions: readonly string[], rounds: number, offset: number): Promise<number> {
  const client = await connect();
  let refused = 0;
  for (let round = 0; round < rounds; round += 1) {
    try {
      for (const word of (transactions[(round + offset) % transactions.length] ?? '').split(' ')) {
        await client.query(STATEMENTS[word] ?? word);
        await client.query('select pg_sleep(random() * 0.004)');
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
  it('miss none and get none twice, whatever writers and readers do meanwhile', async () => {
    const seen: string[] = [];
    let { next: position } = await readRange(test.db);
    const log = openLog(test.db);
    const rounds = 9 * runs(15);
    let isOver = false;
    const follow = async () => {
      for (let isLast = false; !isLast;) {
        isLast = isOver;
        if (isLast) await untilSeen(test.db);
        else await assignPositions(test.db);
        for (let isFull = true; isFull;) {
          const slice = await readSlice(log, ALL_SOURCES, position, 3_000);
          for (const { eventId } of slice.events) seen.push(eventId);
          ({ isFull, end: position = position } = slice);
        }
        await rollUpArrivals(test.db);
      }
    };
    const following = follow();
    const reading = [0, 1].map(() => runInTurn([READER], rounds, 0));
    const refusals = await Promise.all(
      [0, 2, 4, 5, 7, 8].map((offset) => runInTurn(WRITERS, rounds, offset)),
    );
    await Promise.all(reading);
    isOver = true;
    await following;
    await countAll(test.db);
    expect(refusals).toEqual(refusals.map(() => rounds / 3));
    const rows = await test.query<{ event_id: string }>`select event_id from audit_events`;
    expect(seen.toSorted()).toEqual(rows.map((row) => row.event_id).toSorted());
    const sums = await test.query<{ stored: string; counted: string }>`
      select (select count(*) from deliveries) as stored, (select sum(deliveries) from arrivals) as counted`;
    expect(sums[0]?.counted).toBe(sums[0]?.stored);
  });

  it('do not wait for a transaction that has an id and reads, nor for one in another database', async () => {
    const elsewhere = await connect((await databaseForTest()).databaseUrl);
    const reader = await connect();
    await elsewhere.query('begin');
    await elsewhere.query(INSERT_EVENTS);
    await reader.query('begin');
    await reader.query('select pg_current_xact_id(), count(*) from audit_events');
    const { next: position } = await readRange(test.db);
    await (await connect()).query(INSERT_EVENTS);
    await untilSeen(test.db);
    const { events } = await readSlice(openLog(test.db), ALL_SOURCES, position, 1_000);
    expect([...events]).toHaveLength(100);
    await reader.query('rollback');
  });

  it('have an end that lies at or before the id of every transaction that will still store', async () => {
    const writer = await connect();
    await writer.query('begin');
    await writer.query('select begin_storing()');
    const { rows } = await writer.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
    for (let later = 0; later < 3; later += 1)
      await test.db.transaction().execute((trx) => sql`select pg_current_xact_id()`.execute(trx));
    expect(await readHorizon(test.db)).toEqual({ xid: rows[0]?.xid, isEarly: true });
    await writer.query('rollback');
    expect(BigInt((await readHorizon(test.db)).xid)).toBeGreaterThan(BigInt(rows[0]?.xid ?? 0));
  });
});

it('a transaction that stores for long is named, with what it does', async () => {
  const writer = await connect();
  expect(await findLongStoring(test.db, 0)).toEqual([]);
  await writer.query('begin');
  await writer.query(INSERT_EVENTS);
  const [session] = await findLongStoring(test.db, 0);
  expect(session).toMatchObject({ application: 'horizon test', state: 'idle in transaction' });
  expect(session && describeWork(session)).toMatch(
    /^pid \d+ \(horizon test, user \w+\), in a transaction for \d s; idle in transaction: insert into audit_events/,
  );
  expect(await findLongStoring(test.db, 10)).toEqual([]);
  await writer.query('rollback');
});

describe('an insert', () => {
  it.each(['audit_events', 'deliveries'])(
    'into %s is refused after the transaction has got its id, also by a session that fires no triggers',
    async (table) => {
      const insert = table === 'deliveries' ? INSERT_DELIVERY : INSERT_EVENTS;
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
    const rows = await test.query<{ name: string }>`
      select relid::regclass::text as name from pg_partition_tree('audit_events') where isleaf`;
    expect(rows.length).toBeGreaterThan(4);
    for (const { name } of rows) {
      const storing = test.db.transaction().execute(async (trx) => {
        await sql`select pg_current_xact_id()`.execute(trx);
        await sql`insert into ${sql.id(name)} select * from audit_events where false`.execute(trx);
      });
      await expect(storing).rejects.toThrow('got its transaction id before it began to store');
    }
  });
});
