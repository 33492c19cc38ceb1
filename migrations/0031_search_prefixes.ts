import { sql, type Kysely } from 'kysely';

/** Older programs write to the tables as before. */
export const olderProgramsMayRun = true;

/** Of all rows: the planner does not use the statistics of a partial index, and would read the rows in order of time. */
const index = (table: string, column: string, key = column) => ({
  table,
  suffix: `${column}_prefix`,
  definition: `btree (lower(${key}) text_pattern_ops, occurred_at)`,
});

/**
 * People and networks by the beginning of their names, ignoring case. An index entry must be short, and the name of a network
 * has at most 32 bytes (IEEE 802.11), but a sender may write anything.
 */
export const indexes = [
  index('audit_events', 'user_name'),
  index('log_entries', 'username'),
  index('log_entries', 'ssid', 'left(ssid, 64)'),
  index('location_observations', 'ssid', 'left(ssid, 64)'),
];

/** Tables without rows get their indexes here. Those of the others are built beside what is stored. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const { table, suffix, definition } of indexes) {
    const { rows } = await sql`select from ${sql.id(table)} limit 1`.execute(db);
    if (rows.length > 0) continue;
    await sql`
      create index ${sql.id(`${table}_${suffix}`)} on ${sql.id(table)} using ${sql.raw(definition)}`.execute(
      db,
    );
  }
}
