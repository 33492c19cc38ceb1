import { sql } from 'kysely';
import { Client } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { inSavepoint } from '../../../src/store/server/database.ts';
import { findLongStoring, readHorizon } from '../../../src/store/log/horizon.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { assignPositions } from '../../../src/store/log/extend-log.ts';
import { openLog, readRange } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { describeWork } from '../../../src/store/server/server-sessions.ts';
import { emptyTables, createTestDatabase } from '../../support/database.ts';
import { INSERT_DELIVERY, INSERT_EVENTS } from '../../support/stored-rows.ts';
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

describe('those who follow the events', () => {
  it('wait for a transaction that stores', async () => {
    const { next: position } = await readRange(test.db);
    const [first, second] = [await connect(), await connect()];
    await first.query('begin');
    await first.query(INSERT_EVENTS);
    await second.query(INSERT_EVENTS);
    await assignPositions(test.db);
    const read = async () => [...(await readSlice(openLog(test.db), ALL_SOURCES, position, 1_000)).events];
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
    await elsewhere.query(INSERT_EVENTS);
    await reader.query('begin');
    await reader.query('select pg_current_xact_id(), count(*) from audit_events');
    const { next: position } = await readRange(test.db);
    await (await connect()).query(INSERT_EVENTS);
    await untilSeen(test.db);
    const { events } = await readSlice(openLog(test.db), ALL_SOURCES, position, 1_000);
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

  it('may fail in a savepoint and be repeated, once the transaction has begun to store', async () => {
    await test.db.transaction().execute(async (trx) => {
      await sql`select begin_storing()`.execute(trx);
      const failing = inSavepoint(trx, async () => {
        await sql.raw(INSERT_EVENTS).execute(trx);
        await sql`select 1 / 0`.execute(trx);
      });
      await expect(failing).rejects.toThrow('division by zero');
      await sql.raw(INSERT_EVENTS).execute(trx);
    });
    const rows = await test.query`select from audit_events`;
    expect(rows).toHaveLength(100);
  });
});
