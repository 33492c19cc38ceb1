import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * The order of storing, and locks that a role with only `select` cannot take.
 *
 * Readers that follow new rows stop before the first transaction that may still store some (src/store/horizon.ts). They
 * recognise such a transaction by its lock on `deliveries`, so it must have the lock before it gets its transaction
 * id: `begin_storing` does both in this order, and every insert calls it. An insert by a transaction that already has
 * an id, and has it without the lock, is refused: readers may have passed that id.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createOrder(db);
  await createLocks(db);
}

async function createOrder(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = rows[0]?.schema ?? 'public';
  // The setting ends with the transaction, or with the savepoint that also took the lock, and names the transaction:
  // it cannot be left over from another one.
  await sql`
    create function begin_storing() returns void language plpgsql as $$
    declare
      own text := pg_current_xact_id_if_assigned()::text;
    begin
      if own is null then
        lock table ${sql.id(schema, 'deliveries')} in row exclusive mode;
        perform set_config('xiq_sink.storing', pg_current_xact_id()::text, true);
      elsif own is distinct from current_setting('xiq_sink.storing', true) then
        raise exception 'this transaction got its transaction id before it began to store'
          using errcode = 'object_not_in_prerequisite_state',
                hint = 'Make "select begin_storing()" the first statement of the transaction, before any savepoint.';
      end if;
    end $$`.execute(db);
  await sql`
    comment on function begin_storing is
      'Called first in a transaction that stores deliveries or events: it takes the lock, then the transaction id'`.execute(
    db,
  );
  await sql`
    create function store_in_order() returns trigger language plpgsql as $$
    begin
      perform ${sql.id(schema, 'begin_storing')}();
      return null;
    end $$`.execute(db);

  // For each statement, not for each row. A partition needs its own, for rows that are inserted into it directly.
  await sql`
    create function order_table(ordered regclass) returns void language plpgsql as $$
    begin
      execute format(
        'create trigger store_in_order before insert on %s for each statement execute function ${sql.id(schema, 'store_in_order')}()',
        ordered
      );
      execute format('alter table %s enable always trigger store_in_order', ordered);
    end $$`.execute(db);
  await sql`
    comment on function order_table is 'Makes inserts into a table follow the order of storing; for each new partition'`.execute(
    db,
  );
  // In the order in which a transaction that stores locks them. This waits for all transactions that are storing now.
  for (const table of ['audit_events', 'location_observations', 'log_entries']) {
    await sql`select order_table(relid) from pg_partition_tree(${table})`.execute(db);
  }
  await sql`select order_table('deliveries')`.execute(db);
}

async function createLocks(db: Kysely<unknown>): Promise<void> {
  await sql`create table locks (name text primary key)`.execute(db);
  await sql`
    comment on table locks is
      'Rows that a process locks to be the only one that does something; the reading role cannot lock a row'`.execute(
    db,
  );
  await sql`insert into locks values ('maintenance')`.execute(db);
}
