import { sql, type Kysely } from 'kysely';

/** The sealer of a program without this does not know what is queued here. */
export const olderProgramsMayRun = false;

/** A quarter of an hour that is proven is queued to be sealed. One that is pending claims nothing. */
export const statements = [
  `create function queue_quarters() returns trigger language plpgsql as $$
begin
  insert into public.log_queue (kind, key)
    select 'quarter', json_build_array(source, message_type, extract(epoch from quarter)::bigint)::text
    from changed where state <> 'pending';
  return null;
end $$`,
  `create trigger queue_statement_insert after insert on coverage referencing new table as changed
  for each statement execute function queue_quarters()`,
  `create trigger queue_statement_update after update on coverage referencing new table as changed
  for each statement execute function queue_quarters()`,
];

/** What was proven before is sealed from now on. The seal says nothing about the time before it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  await sql`
    alter table coverage enable always trigger queue_statement_insert, enable always trigger queue_statement_update`.execute(
    db,
  );
  await sql`
    insert into log_queue (kind, key)
    select 'quarter', json_build_array(source, message_type, extract(epoch from quarter)::bigint)::text
    from coverage where state <> 'pending' order by quarter`.execute(db);
}
