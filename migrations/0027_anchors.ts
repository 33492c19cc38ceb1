import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration do not anchor checkpoints: those with it continue where they were. */
export const olderProgramsMayRun = true;

/** Checkpoints that are kept elsewhere: how far each anchor is, and the time-stamps of an authority. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table log_anchors (
      anchor text primary key,
      size bigint not null default 0,
      tried_at timestamptz not null,
      anchored_at timestamptz,
      error text
    )`.execute(db);
  await sql`
    create table log_timestamps (
      size bigint primary key,
      made_at timestamptz not null,
      note text not null,
      token bytea not null
    )`.execute(db);
  await sql`
    create trigger refuse_change before update or delete on log_timestamps
      for each row execute function refuse_change()`.execute(db);
  await sql`select guard_table('log_timestamps')`.execute(db);
  await sql`grant select on log_anchors to xiq_reader`.execute(db);
  const comments = {
    'table log_anchors': 'How far each place that keeps checkpoints elsewhere is',
    'column log_anchors.size': 'Leaves of the latest checkpoint that it has',
    'column log_anchors.error': 'Why the last attempt failed; null: it did not',
    'table log_timestamps': 'Time-stamps of checkpoints by an authority (RFC 3161)',
    'column log_timestamps.note': 'The checkpoint as it was stamped',
    'column log_timestamps.token': 'The answer of the authority, in DER',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}
