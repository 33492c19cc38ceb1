import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { recordCoverage } from '../../src/reconcile/coverage.ts';
import { createMissingStore } from '../../src/reconcile/start-history-sweep.ts';
import type { Db } from '../../src/store/server/database.ts';
import { simulate, type Storage } from '../history-simulation/simulate.ts';
import { storeDeliveries } from '../support/actions.ts';
import { useDatabase } from '../support/use-database.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import type { CoverageState } from '../../src/store/server/schema/cloud-tables.ts';

const database = useDatabase();

/** The tables, and the program's own way to store. */
const storageIn = (db: Db): Storage => ({
  db,
  async deliver(source, { messageType, records }) {
    await storeDeliveries(db, queuedDelivery(messageType, records, { source }));
  },
  storeMissing: createMissingStore(db, pino({ level: 'silent' }), new AbortController().signal),
  onCompared: recordCoverage(db),
  async countEvents(source) {
    const { rows } = await sql<{ cluster: string; events: number }>`
      select coalesce(payload->>'username', payload->>'userName') as cluster, count(*)::int as events
      from events where source = ${source} group by 1`.execute(db);
    return new Map(rows.map(({ cluster, events }) => [cluster, events]));
  },
  async readStates(source) {
    const { rows } = await sql<{ messageType: string; quarter: Date; state: CoverageState }>`
      select message_type as "messageType", quarter, state from coverage where source = ${source}`.execute(
      db,
    );
    return new Map(
      rows.map(({ messageType, quarter, state }) => [`${messageType} ${quarter.toISOString()}`, state]),
    );
  },
  async readStatuses(source) {
    const { rows } = await sql<{ logId: string; status: string }>`
      select message_type || ' ' || log_id as "logId", status from history_records
      where source = ${source} and status is not null`.execute(db);
    return new Map(rows.map(({ logId, status }) => [logId, status]));
  },
});

// Without the database, npm run test:history runs as many as asked for.
test.each([
  ['honest lists', 35],
  ['records without a time', 31],
])('every event is stored once, in time, and proven: %s', async (_lists, seed) => {
  const storage = storageIn(database.db);
  const outcome = await simulate(seed, 200, storage, `simulated-${seed}`);
  expect(outcome.failures).toEqual([]);
  expect(outcome.fetched).toBeGreaterThan(5);
  expect(outcome.mostCallsAnHour).toBeLessThan(375);
});
