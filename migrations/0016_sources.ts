import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration accept the sources of their settings alone. */
export const olderProgramsMayRun = true;

/**
 * Sources that were added without a restart, beside those of the settings. A source is never deleted: its name stays in
 * the rows of its events. `xiq_reader` gets no privilege: the definitions contain encrypted secrets.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table sources (
      name text primary key check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
      definition jsonb not null check (jsonb_typeof(definition) = 'object'),
      old_secrets_until timestamptz,
      revision bigint not null default 1,
      created_at timestamptz not null default now(),
      changed_at timestamptz not null default now(),
      disabled_at timestamptz
    )`.execute(db);
  const comments = {
    'table sources': 'Sources that were added by command, API or console',
    'column sources.definition':
      'As in the settings file; a secret is a reference to the environment or a file, or encrypted under SECRETS_KEY',
    'column sources.old_secrets_until': 'When all secrets but the first end; null: they stay',
    'column sources.revision':
      'Grows with each change: processes read the sources again when the sum has changed',
    'column sources.disabled_at': 'Deliveries are refused since then',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`revoke all on sources from public, xiq_reader`.execute(db);
}
