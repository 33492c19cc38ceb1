import * as fc from 'fast-check';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { SimulatedDatabase } from './database.ts';
import { deliveriesOf, jobs, openModel, refuseMarked } from './model-histories.ts';

const real = useDatabase();
const silent = pino({ level: 'silent' });

it('stores the same as Postgres, whatever is stored again or refused', async () => {
  await refuseMarked(real.db);
  const server = openDatabase(real.databaseUrl, () => undefined);
  let history = 0;
  await fc.assert(
    fc.asyncProperty(jobs, async (drawn) => {
      history += 1;
      const database = new SimulatedDatabase(() => 0);
      for (const db of [server, openModel(database)]) {
        const store = new BatchStore(db, silent, new AbortController().signal);
        for (const job of drawn) await store.add({ deliveries: deliveriesOf(job, history) });
      }
      expect(await readModel(database)).toEqual(await readServer(server, history));
    }),
    { numRuns: 25 },
  );
  await server.destroy();
});

/** Of deliveries and the two kinds of what they bring: what is stored, in any order. */
async function readServer(db: Db, history: number) {
  const suffix = `%-${history.toString(16).padStart(12, '0')}`;
  const rows = async (query: ReturnType<typeof sql<{ line: string }>>) =>
    (await query.execute(db)).rows.map(({ line }) => line).toSorted();
  return {
    deliveries:
      await rows(sql`select concat_ws(' ', delivery_id, expected_count, event_count, duplicate_count, quarantined_count) as line
      from deliveries where delivery_id::text like ${suffix}`),
    events: await rows(
      sql`select event_id::text as line from audit_events where delivery_id::text like ${suffix}`,
    ),
    quarantine: await rows(
      sql`select delivery_id || ' ' || encode(content, 'hex') as line from quarantine where delivery_id::text like ${suffix}`,
    ),
  };
}

async function readModel(database: SimulatedDatabase) {
  const rows = (table: string) => [...database.rowsOf(table).values()];
  const line = (...values: (string | undefined)[]) => values.join(' ');
  return {
    deliveries: rows('deliveries')
      .map((row) =>
        line(
          row['delivery_id'],
          row['expected_count'],
          row['event_count'],
          row['duplicate_count'],
          row['quarantined_count'],
        ),
      )
      .toSorted(),
    events: rows('audit_events')
      .map((row) => line(row['event_id']))
      .toSorted(),
    quarantine: rows('quarantine')
      .map((row) => line(row['delivery_id'], row['content']?.slice(2)))
      .toSorted(),
  };
}
