import * as fc from 'fast-check';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import type { Tables } from '../../src/store/server/schema/tables.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { useDatabase } from '../support/use-database.ts';
import { REFUSED_MARK, SimulatedDatabase } from './database.ts';

const real = useDatabase();
const silent = pino({ level: 'silent' });

const NOW = Date.now();

/** The tables of the model, through the pool that Kysely expects. */
function openModel(database: SimulatedDatabase): Db {
  const connect = async () => {
    const session = database.connect(() => undefined);
    return {
      query: (text: string, values: readonly unknown[]) => database.execute(session, text, values),
      release: () => database.disconnect(session),
    };
  };
  const pool = { connect, end: async () => undefined, options: {} };
  return new Kysely<Tables>({ dialect: new PostgresDialect(Object.assign({ pool: undefined }, { pool })) });
}

/** Jobs, of which some are stored again, with deliveries whose records repeat, are refused, or are none. */
const jobs = fc.array(
  fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 6 }),
      records: fc.array(fc.constantFrom(1, 2, 3, 4, 'refused', 'no object'), { maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  { minLength: 1, maxLength: 6 },
);

type Jobs = typeof jobs extends fc.Arbitrary<infer T> ? T : never;

/** Each history has ids and records of its own: the tables of the server keep those of the others. */
function deliveriesOf(drawn: Jobs[number], history: number): QueuedDelivery[] {
  return drawn.map(({ id, records }) =>
    queuedDelivery(
      'AUDIT_LOG_ALL',
      records.map((kind) =>
        kind === 'no object'
          ? `${history}`
          : {
              timeStamp: NOW,
              id: `${history}.${kind}`,
              description: kind === 'refused' ? REFUSED_MARK : 'x',
            },
      ),
      { deliveryId: idOf(history, id), receivedAt: NOW + id },
    ),
  );
}

const idOf = (history: number, id: number) =>
  `0000000${id}-0000-7000-8000-${history.toString(16).padStart(12, '0')}`;

it('stores the same as Postgres, whatever is stored again or refused', async () => {
  await sql`create function refuse_mark() returns trigger language plpgsql as $$ begin
      if new.payload::text like ${sql.lit(`%${REFUSED_MARK}%`)} then raise exception 'refused'; end if; return new; end $$`.execute(
    real.db,
  );
  await sql`create trigger refuse_mark before insert on audit_events for each row execute function refuse_mark()`.execute(
    real.db,
  );
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
