import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration refuse tables that they do not know. */
export const olderProgramsMayRun = false;

/**
 * What each migration means for programs that do not have it: an older program cannot ask the migration itself. The
 * migrator adds the rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table schema_compatibility (
      migration text primary key,
      older_programs_may_run boolean not null
    )`.execute(db);
  const comments = {
    'table schema_compatibility': 'Whether programs that do not know a migration may run on its tables',
    'column schema_compatibility.older_programs_may_run':
      'True: the migration only added what older programs need not know',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`grant select on schema_compatibility to xiq_reader`.execute(db);
}
