import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../../src/store/server/database.ts';

/** The plan of a statement, as Postgres prints it. With `seqscan` off, an index serves empty tables, too. */
export const planOf = (
  db: Db,
  statement: RawBuilder<unknown>,
  seqscan: 'on' | 'off' = 'on',
): Promise<string> =>
  db.transaction().execute(async (trx) => {
    await sql`select set_config('enable_seqscan', ${seqscan}, true)`.execute(trx);
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (verbose) ${statement}`.execute(trx);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
