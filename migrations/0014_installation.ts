import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs of the previous version neither read nor write this table. */
export const olderProgramsMayRun = true;

/**
 * The id of this installation, made by the first process that stores. It marks the queue in Redis, so that two databases
 * never share one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table installation (
      is_only boolean primary key default true check (is_only),
      id uuid not null default gen_random_uuid(),
      created_at timestamptz not null default now()
    )`.execute(db);
  const comments = {
    'table installation': 'The id of this installation: one row',
    'column installation.id':
      'Marks the queue in Redis as that of this database; stays the same in a restored backup',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`revoke all on installation from public, xiq_reader`.execute(db);
}
