import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration count rejected events within one batch only. */
export const olderProgramsMayRun = true;

/** How many events a destination has rejected since it accepted one, whatever the batches were. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table destinations add column rejected_in_row integer not null default 0`.execute(db);
  await sql`comment on column destinations.rejected_in_row is
    'Events set aside as rejected since the last one that was accepted, or since an operator resumed'`.execute(
    db,
  );
}
