import { sql } from 'kysely';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, familyQueries, timeConditions } from './event-filter.ts';
import type { EventFilter } from './event-filter.ts';
import { withinTime } from './timed-query.ts';

const TIMEOUT_MS = 1_500;

/** How many events match, counted up to a limit. Undefined when that would take longer than 1.5 seconds. */
export async function countEventsUpTo(
  db: Db,
  filter: EventFilter,
  limit: number,
): Promise<number | undefined> {
  const parts = familyQueries(filter).flatMap(({ family, conditions, branches }) =>
    branches.map(
      ({ condition }) => sql`(select from ${sql.table(TABLE_OF[family])}
        where ${allOf([...conditions, ...timeConditions(filter), condition])} limit ${limit})`,
    ),
  );
  if (parts.length === 0) return 0;
  return withinTime(db, TIMEOUT_MS, async (trx) => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::float8 as count
      from (select from (${sql.join(parts, sql` union all `)}) as found limit ${limit}) as counted`.execute(
      trx,
    );
    return rows[0]?.count ?? 0;
  });
}
