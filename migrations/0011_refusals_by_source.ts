import { sql, type Kysely } from 'kysely';

/** A program without this would refuse what other sources send, too. */
export const olderProgramsMayRun = false;

/**
 * An erasure may be of one source: what another one sends is not refused then. What the cloud says to have deleted is
 * refused by the column `client_mac` alone, not by the text of a record.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table refused_records add column source text, drop constraint refused_records_kind_check,
      add constraint refused_records_kind_check check (kind in ('user', 'mac', 'phone', 'event', 'client'))`.execute(
    db,
  );
  await sql`
    comment on column refused_records.source is 'Only records of this source are refused; null: of all sources'`.execute(
    db,
  );
}
