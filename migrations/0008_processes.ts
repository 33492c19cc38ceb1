import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** The processes of this service: each writes its own row down every few seconds, and removes it when it ends. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table processes (
      process_id uuid primary key,
      role text not null,
      host text not null,
      pid integer not null,
      version text not null,
      started_at timestamptz not null,
      seen_at timestamptz not null default now(),
      figures jsonb not null
    )`.execute(db);
  const comments = {
    'table processes': 'The running processes of this service, and those that died within the last day',
    'column processes.seen_at': 'When it last reported, which it does every 10 s',
    'column processes.figures': 'What it has done in the last minute, and how it is',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`grant select on processes to xiq_reader`.execute(db);
}
