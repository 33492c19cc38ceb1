import { sql, type Kysely } from 'kysely';

/** Older programs have no saved searches. */
export const olderProgramsMayRun = true;

/** Searches that people keep by name, for everyone who may see what their saver may see. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table saved_searches (
      id bigint generated always as identity primary key,
      name text not null,
      line text not null,
      since text,
      until text,
      saved_by text not null,
      saved_at timestamptz not null default now(),
      sources text[],
      raises_alerts boolean not null default false
    )`.execute(db);
  await sql`
    create unique index saved_searches_name on saved_searches (lower(name), coalesce(sources, '{}'))`.execute(
    db,
  );
  // A line may name people of sources that a reader may not see.
  await sql`revoke all on saved_searches from public, xiq_reader`.execute(db);
  for (const [object, text] of Object.entries(COMMENTS)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

const COMMENTS = {
  'table saved_searches': 'Searches that people saved by name',
  'column saved_searches.line': 'The search line',
  'column saved_searches.since': 'Start of the range: ISO 8601, or relative such as 24h',
  'column saved_searches.until': 'End of the range; null: now',
  'column saved_searches.sources': 'The sources that the saver could see, in order; null: all',
  'column saved_searches.raises_alerts': 'Whether events that match from now on raise alerts',
} as const;
