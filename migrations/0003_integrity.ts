import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * What is stored stays as it was written: nobody updates, deletes or truncates it, this program included. The
 * owner loses the privileges, and triggers, which fire for a superuser as well, say why. Nothing fires on insert.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% on % is refused: what is stored stays as it was written', lower(tg_op), tg_table_name
        using errcode = 'insufficient_privilege',
              hint = 'Events leave by retention alone, which drops whole months (RETENTION_AUDIT_MONTHS and its like).';
    end $$`.execute(db);

  // A partition is a table with privileges of its own, and gets no trigger on truncate from its parent.
  await sql`
    create function guard_table(guarded regclass) returns void language plpgsql as $$
    begin
      execute format('revoke update, delete, truncate on %s from current_user', guarded);
      execute format('grant select on %s to xiq_reader', guarded);
      execute format(
        'create trigger refuse_truncate before truncate on %s for each statement execute function refuse_change()',
        guarded
      );
    end $$`.execute(db);
  await sql`
    comment on function guard_table is 'Takes from a table what could change its rows; for each new partition'`.execute(
    db,
  );

  for (const table of ['audit_events', 'location_observations', 'log_entries', 'deliveries']) {
    // Of a partitioned table, every partition of today and tomorrow has this trigger, too.
    await sql`
      create trigger refuse_change before update or delete on ${sql.id(table)}
        for each row execute function refuse_change()`.execute(db);
    await sql`select guard_table(relid) from pg_partition_tree(${table})`.execute(db);
  }
  // A plain table has no such tree.
  await sql`select guard_table('deliveries')`.execute(db);

  // Before Postgres 15 everybody may create tables in the schema, the reading role included.
  await sql`revoke create on schema public from public`.execute(db);
}
