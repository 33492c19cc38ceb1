import { Client, DatabaseError } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { openLog } from '../../../src/store/log/read-log.ts';
import { rollUpArrivals } from '../../../src/store/counts/roll-up-arrivals.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { emptyTables } from '../../support/database.ts';
import { useDatabase } from '../../support/use-database.ts';
import { INSERT_DELIVERY, INSERT_EVENTS } from '../../support/stored-rows.ts';
import { untilSeen } from '../../support/until-seen.ts';

const test = useDatabase({ logs: true });
const clients: Client[] = [];

beforeEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await emptyTables(test.db);
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
});

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: test.databaseUrl, application_name: 'horizon test' });
  await client.connect();
  clients.push(client);
  return client;
}

const DELAY = 'select pg_sleep(random() * 0.004)';

/** Transactions as they occur: statement by statement, with a random delay between two. */
const TRANSACTIONS: readonly (readonly string[])[] = [
  // As this program stores.
  ['begin', 'select begin_storing()', INSERT_EVENTS, INSERT_DELIVERY, 'commit'],
  [
    'begin',
    'select begin_storing()',
    'savepoint a',
    INSERT_EVENTS,
    'rollback to a',
    INSERT_EVENTS,
    INSERT_DELIVERY,
    'commit',
  ],
  ['begin', 'select begin_storing()', INSERT_EVENTS, 'rollback'],
  // As an administrator inserts by hand.
  [INSERT_EVENTS],
  ['begin', INSERT_EVENTS, INSERT_DELIVERY, 'commit'],
  ['begin', 'savepoint a', INSERT_EVENTS, 'release a', INSERT_EVENTS, 'commit'],
  // These got their transaction id before they began to store: the insert is refused.
  ['begin', 'select pg_current_xact_id()', INSERT_EVENTS, INSERT_DELIVERY, 'commit'],
  ['begin', 'savepoint a', INSERT_EVENTS, 'rollback to a', INSERT_EVENTS, 'commit'],
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
          const { events, end = position } = await readSlice(log, ALL_SOURCES, position, 3_000);
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

      const rows = await test.query<{ event_id: string }>`select event_id from audit_events`;
      expect(rows.length).toBeGreaterThanOrEqual(100_000);
      expect(seen.length).toBe(rows.length);
      expect(new Set(seen)).toEqual(new Set(rows.map((row) => row.event_id)));
      const sums = await test.query<{ stored: string; counted: string }>`
      select (select count(*) from deliveries) as stored, (select sum(deliveries) from arrivals) as counted
    `;
      expect(sums[0]?.counted).toBe(sums[0]?.stored);
      expect(refusals.every((refused) => refused === 51)).toBe(true);
    },
  );
});
