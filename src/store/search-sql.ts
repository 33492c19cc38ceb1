import { sql } from 'kysely';
import type { Db } from './database.ts';
import { familyQueries, selectsOf, timeConditions, type EventFilter } from './event-filter.ts';
import type { Scope } from './scope.ts';

/** A search as one SQL statement, which readers may run: the events of the view `events` that match, newest first. */
export function searchStatement(db: Db, scope: Scope, filter: EventFilter): string {
  const columns = () => sql`event_id, occurred_at`;
  const found = selectsOf(familyQueries(scope, filter), timeConditions(filter), columns);
  const matching =
    found.length === 0
      ? sql`select event_id, occurred_at from events where false`
      : sql.join(found, sql`\n  union all\n  `);
  const statement = sql`select events.*
from (
  ${matching}
) as found
join events using (event_id, occurred_at)
order by occurred_at desc, event_id desc`;
  const { sql: text, parameters } = statement.compile(db);
  // Conditions that say nothing are no help to a reader.
  const plain = text.replaceAll(/ and true\b/g, '');
  return plain.replaceAll(/\$(\d+)/g, (_, number: string) => literalOf(parameters[Number(number) - 1]));
}

/** A parameter as an SQL literal; a search compares with texts, times, numbers, and arrays of them. */
function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `array[${value.map(literalOf).join(', ')}]`;
  if (value === null) return 'null';
  const text = value instanceof Date ? value.toISOString() : value;
  if (typeof text === 'number' || typeof text === 'boolean' || typeof text === 'bigint') return `${text}`;
  if (typeof text !== 'string') throw new TypeError(`a search cannot compare with ${typeof text}`);
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
