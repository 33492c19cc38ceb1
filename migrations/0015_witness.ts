import { sql, type Kysely } from 'kysely';

/** They sign no checkpoints of others. */
export const olderProgramsMayRun = true;

/** What this installation has signed as a witness of other logs, and what proves that one of them has forked. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table witnessed_logs (
      public_key text primary key, note text not null, signed_at timestamptz not null,
      fork_found_at timestamptz, fork text, check (num_nulls(fork_found_at, fork) <> 1)
    )`.execute(db);
  await sql`grant select on witnessed_logs to xiq_reader`.execute(db);
  const comments = {
    public_key: 'Public key of the log. With another key, it is another log',
    note: 'The latest checkpoint that was signed here, with the signatures of log and witness. One that does not contain it is not signed',
    fork: 'The first proof that the log has signed two trees of which none contains the other: the checkpoint that was signed here, then the refused request',
  };
  await sql`comment on table witnessed_logs is 'The logs of others that this installation is a witness of'`.execute(
    db,
  );
  for (const [column, comment] of Object.entries(comments)) {
    await sql`comment on column ${sql.ref(`witnessed_logs.${column}`)} is ${sql.lit(comment)}`.execute(db);
  }
}
