import { sql, type Kysely } from 'kysely';

/** A program without this stores refusals without a sieve, which are found as before, word by word. */
export const olderProgramsMayRun = true;

/** An HMAC for each word of each record let one sender occupy a processor for minutes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table refused_records add column sieve integer`.execute(db);
  await sql`
    comment on column refused_records.sieve is 'A hash of what is refused, encrypted with the key: words with other hashes need no HMAC. Null: of an erasure before this column'`.execute(
    db,
  );
}
