import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** The webhook subscriptions that this program keeps in the cloud, as it knows them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table subscriptions (
      id bigint generated always as identity primary key,
      subscription_id bigint,
      source text not null,
      message_type text not null,
      url text not null,
      application text not null,
      status text not null,
      secret_digest text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      unique (source, subscription_id)
    )`.execute(db);
  const comments = {
    'table subscriptions': 'The webhook subscriptions that this program keeps in the cloud, as it knows them',
    'column subscriptions.subscription_id': "The cloud's id; null while the cloud has not told it",
    'column subscriptions.status': 'ENABLED or DISABLED',
    'column subscriptions.secret_digest':
      'SHA-256 of the registered secret in hexadecimal digits, never the secret',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`grant select on subscriptions to xiq_reader`.execute(db);
}
