import { sql, type Kysely } from 'kysely';

/** Programs without it change the column themselves, as the owner. */
export const olderProgramsMayRun = true;

export const statements = [
  // After a restore on another server, the service begins an era, and only the owner may change the column.
  `create function begin_era(era int) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  execute format('alter table deliveries alter column era set default %s', era);
end $$`,
  'revoke execute on function begin_era(int) from public',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
