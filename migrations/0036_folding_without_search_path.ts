import { sql, type Kysely } from 'kysely';
import { FOLD_UNICODE } from './0022_fold_names.ts';

/** Only the body of a function changes. */
export const olderProgramsMayRun = true;

/** For databases that made the function when it did not name the schema of what it calls. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(FOLD_UNICODE).execute(db);
}
