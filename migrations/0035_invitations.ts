import { sql, type Kysely } from 'kysely';

/** A program without it accepts no invitation, and leaves those that were made as they are. */
export const olderProgramsMayRun = true;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table accounts
      add column invitation bytea unique check (octet_length(invitation) = 32),
      add column invited_until timestamptz,
      add check ((invitation is null) = (invited_until is null))`.execute(db);
  const comments = {
    invitation: 'Digest of the key in the link with which the person sets a password; null: none is open',
    invited_until: 'When the link ends',
  };
  for (const [column, comment] of Object.entries(comments)) {
    await sql.raw(`comment on column accounts.${column} is '${comment}'`).execute(db);
  }
}
