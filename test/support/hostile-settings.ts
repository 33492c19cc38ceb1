import { sql } from 'kysely';
import type { Db } from '../../src/store/server/database.ts';

/** Settings of a database under which plain SQL gives other results, or none. */
const HOSTILE = {
  datestyle: 'SQL, DMY',
  timezone: 'Asia/Kolkata',
  intervalstyle: 'sql_standard',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  search_path: 'nowhere',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
  statement_timeout: '5ms',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '5ms',
  jit: 'on',
  jit_above_cost: '0',
} as const;

/** Makes them the settings of every later session of a database, but for some. Needs its owner. */
export async function setHostile(db: Db, except: readonly string[] = []): Promise<void> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db);
  for (const [setting, value] of Object.entries(HOSTILE)) {
    if (except.includes(setting)) continue;
    await sql`alter database ${sql.id(rows[0]?.name ?? '')} set ${sql.id(setting)} = ${sql.lit(value)}`.execute(
      db,
    );
  }
}
