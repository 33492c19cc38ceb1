import { sql, type Kysely } from 'kysely';

/** A program without it forwards to the destinations of the settings alone, and evaluates their rules alone. */
export const olderProgramsMayRun = true;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table added_outputs (
      kind text not null check (kind in ('destination', 'rule')),
      name text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
      definition jsonb not null check (jsonb_typeof(definition) = 'object'),
      created_at timestamptz not null default now(), changed_at timestamptz not null default now(),
      primary key (kind, name))`.execute(db);
  // The definitions contain encrypted secrets.
  await sql`revoke all on added_outputs from public, xiq_reader`.execute(db);
  const comments = {
    'table added_outputs': 'Destinations and alert rules that were added in the console or by the API',
    'column added_outputs.definition':
      'As in the settings file, without the name of a destination; a secret is encrypted under SECRETS_KEY',
  };
  for (const [subject, comment] of Object.entries(comments)) {
    await sql.raw(`comment on ${subject} is '${comment}'`).execute(db);
  }
}
