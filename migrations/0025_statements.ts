import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration queue what they change: those with it seal that. */
export const olderProgramsMayRun = true;

/** Tables whose rows are sealed as statements, their keys, and the kind of the statement. */
const STATED = [
  { table: 'operator_log', key: 'id', kind: 'operation' },
  { table: 'quarantine', key: 'quarantine_id', kind: 'quarantined item' },
  { table: 'gaps', key: 'id', kind: 'gap' },
];

/**
 * Seals rows that change: each state of a row becomes a statement with a leaf of its own in the tree. The queue has the rows
 * that changed since. It needs no order, because the sealer reads what a row is, and only sees what has committed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table log_queue (
      id bigint generated always as identity primary key,
      kind text not null,
      key text not null
    )`.execute(db);
  await sql`
    create table log_statements (
      leaf bigint primary key,
      kind text not null,
      key text not null,
      record text not null
    )`.execute(db);
  await sql`create index log_statements_key on log_statements (kind, key, leaf)`.execute(db);
  await sql`
    create trigger refuse_change before update or delete on log_statements
      for each row execute function refuse_change()`.execute(db);
  await sql`select guard_table('log_statements')`.execute(db);
  // They contain what the operator log has, which is not for everybody.
  await sql`revoke all on log_statements, log_queue from public, xiq_reader`.execute(db);
  await sql`
    create function queue_statement() returns trigger language plpgsql as $$
    begin
      execute format('insert into public.log_queue (kind, key) select %L, %I::text from changed', tg_argv[0], tg_argv[1]);
      return null;
    end $$`.execute(db);
  for (const { table, key, kind } of STATED) {
    for (const change of ['insert', 'update']) {
      await sql`
        create trigger ${sql.id(`queue_statement_${change}`)} after ${sql.raw(change)} on ${sql.id(table)}
          referencing new table as changed
          for each statement execute function queue_statement(${sql.lit(kind)}, ${sql.lit(key)})`.execute(db);
      await sql`
        alter table ${sql.id(table)} enable always trigger ${sql.id(`queue_statement_${change}`)}`.execute(
        db,
      );
    }
    await sql`
      insert into log_queue (kind, key) select ${kind}, ${sql.id(key)}::text from ${sql.id(table)} order by ${sql.id(key)}`.execute(
      db,
    );
  }
  const comments = {
    'table log_queue': 'Rows that changed and whose new state is not sealed yet',
    'table log_statements': 'Sealed states of rows that may change: each has a leaf of its own',
    'column log_statements.leaf': 'Leaf of the tree',
    'column log_statements.record': 'The row as it was then, as a JSON array',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}
