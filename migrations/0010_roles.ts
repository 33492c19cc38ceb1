import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * Guards fire always: without this, a superuser's session with `session_replication_role = replica` is not stopped by
 * them. New partitions get the same, and the rights of the service if its role is not the owner.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function guard_table(guarded regclass) returns void language plpgsql as $$
    declare
      guard name;
    begin
      execute format('revoke update, delete, truncate on %s from current_user', guarded);
      execute format('grant select on %s to xiq_reader', guarded);
      if session_user <> current_user then
        execute format('grant select, insert on %s to session_user', guarded);
      end if;
      execute format(
        'create or replace trigger refuse_truncate before truncate on %s for each statement execute function refuse_change()',
        guarded
      );
      for guard in
        select tgname from pg_trigger where tgrelid = guarded and tgenabled <> 'A' and not tgisinternal
      loop
        execute format('alter table %s enable always trigger %I', guarded, guard);
      end loop;
    end $$`.execute(db);

  // Parents first: before Postgres 15, the triggers of their partitions follow only them.
  await sql`
    do $$
    declare
      guarded regclass;
      guard name;
    begin
      for guarded, guard in
        select tgrelid, tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
          where tgfoid in ('refuse_change'::regproc, 'resolve_only'::regproc, 'end_once'::regproc)
            and not tgisinternal
          order by relispartition
      loop
        execute format('alter table %s enable always trigger %I', guarded, guard);
      end loop;
    end $$`.execute(db);
}
