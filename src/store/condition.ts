import { sql, type RawBuilder } from 'kysely';

/** An SQL condition on the columns of one family's table. */
export type Condition = RawBuilder<unknown>;

/** All of these conditions; true when there are none. */
export const allOf = (conditions: readonly Condition[]): Condition =>
  conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);

/**
 * Whether the record contains a text, ignoring case.
 *
 * ASCII text is compared byte by byte, which avoids the rules of a language and, without letters, the conversion to
 * lower case. The result is the same, except that only those rules treat the Kelvin sign as a K.
 */
export function contains(text: string): Condition {
  const isAscii = Buffer.byteLength(text) === text.length;
  if (!isAscii) return sql`payload::text ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;
  const lower = text.toLowerCase();
  if (lower === text.toUpperCase()) return sql`strpos(payload::text collate "C", ${text}) > 0`;
  return sql`strpos(lower(payload::text collate "C"), ${lower}) > 0`;
}
