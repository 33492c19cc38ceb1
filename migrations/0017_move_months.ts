import { sql, type Kysely } from 'kysely';

/** They copy the default partition instead, by the functions that 0014 has for that. */
export const olderProgramsMayRun = true;

export const statements = [
  // With its indexes, which a table would else get while it is attached, when everybody who reads waits.
  `create or replace function create_like(parent text, name text) returns void language plpgsql as $$
begin
  execute format('create table %I (like %I including defaults including constraints including indexes)', name, parent);
  if parent = 'deliveries' then
    execute format('alter table %I add primary key (delivery_id)', name);
  end if;
end $$`,
  // A default partition loses rows to their month, as an erasure deletes some: to this one function, known by its place on the stack.
  `create or replace function refuse_change() returns trigger language plpgsql as $$
declare
  stack text;
begin
  get diagnostics stack = pg_context;
  if tg_op = 'DELETE' and tg_table_name <> 'erasures' and stack ~ '(?n)^PL/pgSQL function erase_rows[(]'
      or tg_op = 'DELETE' and tg_table_name ~ '_default$' and stack ~ '(?n)^PL/pgSQL function move_month[(]' then
    return old;
  end if;
  raise exception '% on % is refused: what is stored stays as it was written', lower(tg_op), tg_table_name
    using errcode = 'insufficient_privilege',
          hint = 'Events leave by retention, which drops whole months (RETENTION_AUDIT_MONTHS and its like), or by xiq-sink erase.';
end $$`,
  // New rows of the month wait meanwhile (`let_rows_wait`), and all others are stored.
  `create function move_month(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  name text := parent || to_char(month, '_YYYY_MM');
  outside text := parent || '_default';
begin
  perform create_like(parent, name);
  execute format('grant delete on %I to current_user', outside);
  execute format('with moved as (delete from %I where %s returning *) insert into %I select * from moved', outside,
    is_in(parent, month), name);
  execute format('revoke delete on %I from current_user', outside);
  execute format('alter table %I validate constraint wait_for_partition', outside);
  perform attach_guarded(parent, name, bounds_of(month));
  execute format('alter table %I drop constraint wait_for_partition', outside);
end $$`,
  'revoke execute on function move_month(text, date) from public',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
