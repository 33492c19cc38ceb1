import { sql } from 'kysely';
import { UsageError } from '../../../lib/errors.ts';
import type { Db, Trx } from '../database.ts';
import { allRows, onlyRow, run } from '../statement.ts';
import type { Migrations } from './migrations.ts';

/** The commit of the last program before the baseline, whose tables are adopted as they are. */
export const LAST_COMMIT = 'cb5dc95ddfea995c9831f4b2aed7f5bc295cdbb6';

/** Its first and its last migration: it applied them in order, so the last one shows that all were. */
const FIRST_OF_BEFORE = '0001_events';
const LAST_OF_BEFORE = '0038_report_schedules';

/** The migrations that are the baseline. Those that come later are applied to adopted tables, too. */
const LAST_OF_BASELINE = '0010_conservation';

/** Its functions and views are written differently since, with the same result, and are created again. */
const REPLACED = ['0009_erase_rows', LAST_OF_BASELINE];

/** Stands among the names of applied migrations for the adoption. */
export const ADOPTION = `adopted the tables of ${LAST_COMMIT.slice(0, 7)} as the baseline`;

/** Whether a program of before the baseline created the tables, and none adopted them. */
export async function isOfBefore(db: Db): Promise<boolean> {
  const found = await allRows(db)`select where to_regclass('kysely_migration') is not null`;
  return found.length > 0 && (await isApplied(db, FIRST_OF_BEFORE));
}

/**
 * Takes the tables of the last program before the baseline for those that the baseline creates: its migrations are recorded
 * in place of the earlier ones, and what only conversions used is dropped. No row of an event is read. Throws a UsageError
 * if an earlier program created the tables, or if a conversion by the last one has not ended.
 */
export async function adopt(trx: Trx, known: Migrations): Promise<void> {
  if (!(await isApplied(trx, LAST_OF_BEFORE)))
    throw updateFirst(
      'The database belongs to an earlier version of xiq-sink',
      'run its migrate, and its serve',
    );
  const unfinished = await findUnfinished(trx);
  if (unfinished.length > 0)
    throw updateFirst(
      `An earlier version of xiq-sink has not finished converting the database: ${unfinished.join('; ')}`,
      'run its serve until it has finished',
    );
  const baseline = Object.keys(known).filter((name) => name <= LAST_OF_BASELINE);
  for (const name of REPLACED) await known[name]?.up(trx);
  await run(trx)`alter table arrivals_progress drop column old_before, drop column old_seconds`;
  await run(trx)`
    alter table log_state drop column old_id_limit, drop column old_xid, drop column old_id`;
  await run(trx)`
    alter table destinations drop column cursor_xid, drop column cursor_id,
      alter column cursor_position set not null`;
  for (const [object, comment] of Object.entries(COMMENTS))
    await run(trx)`comment on ${sql.raw(object)} is ${sql.lit(comment)}`;
  await run(trx)`delete from kysely_migration`;
  await run(trx)`delete from schema_compatibility`;
  await run(trx)`
    insert into kysely_migration (name, timestamp) select name, now()::text from unnest(${baseline}::text[]) as name`;
}

const updateFirst = (problem: string, remedy: string) =>
  new UsageError(
    `${problem}. Update it first: with the commit ${LAST_COMMIT}, ${remedy}. Then start this version.`,
  );

async function isApplied(db: Db, name: string): Promise<boolean> {
  return (await allRows(db)`select from kysely_migration where name = ${name}`).length > 0;
}

/** The conversions in the background that the last program before the baseline has not finished, in words. */
async function findUnfinished(trx: Trx): Promise<readonly string[]> {
  const { unfinished } = await onlyRow<{ unfinished: string[] }>(trx)`
    select array_remove(array[
      case when exists (select from arrivals_progress where old_before is not null)
        then 'deliveries are not counted' end,
      case when exists (select from log_state where old_xid is not null) then 'events have no position' end,
      case when exists (select from destinations where cursor_position is null)
        then 'destinations have no position' end,
      case when exists (select from deliveries_default) and not exists (
          select from pg_inherits where inhparent = 'deliveries'::regclass and inhrelid <> 'deliveries_default'::regclass)
        then 'deliveries are not partitioned by month' end,
      case when exists (
          select from unnest(${PREFIX_INDEXES}::text[]) as name
          where not exists (select from pg_index where indexrelid = to_regclass(name) and indisvalid))
        then 'indexes are not built' end
    ], null) as unfinished`;
  return unfinished;
}

/** Built partition by partition. The index of the whole table is valid once each partition has its own. */
const PREFIX_INDEXES = [
  'audit_events_user_name_prefix',
  'log_entries_username_prefix',
  'log_entries_ssid_prefix',
  'location_observations_ssid_prefix',
];

const COMMENTS = {
  'column accounts.password_hash': 'scrypt; null: no login with a password',
  'table sessions': 'Sessions of the console; deleted at logout',
  'column sessions.account': 'Null for a login with the admin token',
  'column log_state.first_position': 'Position of the oldest event in the log',
  'column log_state.earlier_id':
    'Events up to this id were stored by another server: their transaction ids mean nothing here',
  'column destinations.cursor_position':
    'Every event before this position was sent, filtered out or set aside in rejected_events',
};
