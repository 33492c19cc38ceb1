import { sql, type Kysely } from 'kysely';

/** A program without it sends a refused login again after each start, as before. */
export const olderProgramsMayRun = true;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table refused_logins (
      source text primary key, fingerprint bytea not null, status integer not null, reason text not null,
      refused_at timestamptz not null, until timestamptz)`.execute(db);
  const comments = {
    'table refused_logins': 'The last login of each source that the cloud has refused',
    'column refused_logins.fingerprint':
      'scrypt of address, user name and password, so that changed credentials are sent',
    'column refused_logins.status': 'The HTTP status of the answer',
    'column refused_logins.until':
      'When the login may be sent again; null: when the credentials change, or a person wants it',
  };
  for (const [subject, comment] of Object.entries(comments)) {
    await sql.raw(`comment on ${subject} is '${comment}'`).execute(db);
  }
}
