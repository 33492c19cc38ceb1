import * as fc from 'fast-check';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import type { Db } from '../../src/store/server/database.ts';
import type { Tables } from '../../src/store/server/schema/tables.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { REFUSED_MARK, type SimulatedDatabase } from './database.ts';

const NOW = Date.now();

/** The tables of the model, through the pool that Kysely expects. */
export function openModel(database: SimulatedDatabase): Db {
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
export const jobs = fc.array(
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
export function deliveriesOf(drawn: Jobs[number], history: number): QueuedDelivery[] {
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

/** Lets the tables of the server refuse what those of the model refuse. */
export async function refuseMarked(db: Db): Promise<void> {
  await sql`create function refuse_mark() returns trigger language plpgsql as $$ begin
      if new.payload::text like ${sql.lit(`%${REFUSED_MARK}%`)} then raise exception 'refused'; end if; return new; end $$`.execute(
    db,
  );
  await sql`create trigger refuse_mark before insert on audit_events for each row execute function refuse_mark()`.execute(
    db,
  );
}
