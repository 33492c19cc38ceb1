import { sql, type RawBuilder } from 'kysely';
import { typesOfFamily } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { Db, Trx } from '../server/database.ts';
import { TILE_ENTRIES } from '../log/extend-log.ts';
import { NOT_SUPERSEDED, rowByKey } from '../server/condition.ts';
import { whileAlone } from '../server/locks.ts';
import { onlyRow, run } from '../server/statement.ts';
import { arrayLiteral } from '../events/insert-rows.ts';
import { appearancesIn, latestOf, SEEN_FAMILIES, type SeenFamily } from './seen-by-event.ts';
import { SEEN_KINDS } from '../server/schema/count-tables.ts';

/** Days that are counted one by one, today included. */
export const SEEN_DAYS = 30;

/**
 * Events that are counted in one transaction. The more, the fewer rows change for each: with 40 tiles an event of 5,000
 * people takes 11 us of the server, with 160 it takes 6.5, and a step a third of a second.
 */
const STEP = 160 * TILE_ENTRIES;

/**
 * Counts the events that the log has got since the last roll-up in `seen` and `seen_days`, and a step of those before the
 * first one, the latest first. Each is counted once, since the progress commits with the counts. Undefined, with nothing
 * done, while another process counts; else how many positions were counted, and whether more remain.
 */
export async function rollUpSeen(db: Db, step = STEP) {
  return whileAlone(db, sql`seen_progress`, async (trx) => {
    const { first, next } = await readRange(trx, 'seen_progress');
    const { first: logFirst, next: logNext } = await readRange(trx, 'log_state');
    const newNext = Math.min(next + step, logNext);
    const newFirst = Math.max(first - step, logFirst);
    if (newNext > next) await count(trx, next, newNext);
    if (newFirst < first) await count(trx, newFirst, first);
    const counted = Math.max(0, newNext - next) + Math.max(0, first - newFirst);
    if (counted > 0) {
      await trx
        .updateTable('seen_progress')
        .set({
          first_position: sql`least(first_position, ${newFirst}::bigint)`,
          next_position: sql`greatest(next_position, ${newNext}::bigint)`,
        })
        .execute();
    }
    return { counted, isBehind: newNext < logNext || newFirst > logFirst };
  });
}

async function readRange(trx: Trx, table: 'seen_progress' | 'log_state') {
  const row = await trx
    .selectFrom(table)
    .select(['first_position', 'next_position'])
    .executeTakeFirstOrThrow();
  return { first: Number(row.first_position), next: Number(row.next_position) };
}

/** Counts the events at positions from one (inclusive) to another (exclusive). */
async function count(trx: Trx, from: number, to: number): Promise<void> {
  await run(trx)`
    with entry as materialized (
      select one.at, one.id, message_type
      from log_tiles cross join unnest(kinds, log_tiles.occurred_at, event_ids) with ordinality as one (kind, at, id, number)
        join log_kinds on log_kinds.kind = one.kind
      where first > ${from}::bigint - ${sql.lit(TILE_ENTRIES)} and first < ${to}::bigint
        and first + number - 1 >= ${from}::bigint and first + number - 1 < ${to}::bigint
    ), ${counts(rowsOfEntries)}, days as (
      insert into seen_days (kind, key, source, day, ${DAY_COUNTS})
      select kind, key, source, day, ${DAY_COUNTS} from counted
      where day > (now() at time zone 'UTC')::date - ${sql.lit(SEEN_DAYS)}
      on conflict (kind, key, source, day) do update
        set ${sql.join(COUNTED.map((name) => sql`${sql.ref(name)} = seen_days.${sql.ref(name)} + excluded.${sql.ref(name)}`))}
    )
    insert into seen (kind, key, source, name, audit_at, location_at, log_at)
    select kind, key, source, (array_agg(name order by last_seen desc) filter (where name is not null))[1],
      max(audit_at), max(location_at), max(log_at)
    from counted group by kind, key, source
    on conflict (kind, key, source) do update set
      name = case when excluded.last_seen >= seen.last_seen then coalesce(excluded.name, seen.name)
        else coalesce(seen.name, excluded.name) end,
      audit_at = greatest(seen.audit_at, excluded.audit_at),
      location_at = greatest(seen.location_at, excluded.location_at),
      log_at = greatest(seen.log_at, excluded.log_at)
    -- Older events of those who are known change nothing: a row that is not written need not be vacuumed.
    where seen.name is null and excluded.name is not null or ${sql.join(
      SEEN_FAMILIES.map(
        (family) =>
          sql`excluded.${sql.ref(`${family}_at`)} > coalesce(seen.${sql.ref(`${family}_at`)}, '-infinity')`,
      ),
      sql` or `,
    )}`;
}

const COUNTED = ['events', 'logins', 'changes', 'keys'] as const;
const DAY_COUNTS = sql.join(COUNTED.map((name) => sql.ref(name)));

/** The rows of the entries of one family, found one by one by their primary key. */
const rowsOfEntries = (family: SeenFamily): RawBuilder<unknown> => sql`(
  select row.* from entry
    cross join ${rowByKey(TABLE_OF[family], sql`occurred_at = entry.at and event_id = entry.id and ${NOT_SUPERSEDED}`)} as row
  where entry.message_type in (${typesIn(family)}))`;

const typesIn = (family: SeenFamily) => sql.join(typesOfFamily(family).map((type) => sql.lit(type)));

/** The counts of the events of each family by person or device and day, as the common table expression `counted`. */
const counts = (rowsOf: (family: SeenFamily) => RawBuilder<unknown>): RawBuilder<unknown> => sql`
  counted as materialized (
    select kind, key, source, (seen_at at time zone 'UTC')::date as day, count(*) as events,
      count(*) filter (where is_login) as logins, count(*) filter (where is_change) as changes,
      count(*) filter (where is_key) as keys, max(seen_at) as last_seen,
      (array_agg(name order by seen_at desc) filter (where name is not null))[1] as name,
      ${sql.join(SEEN_FAMILIES.map((family) => sql`max(seen_at) filter (where family = ${sql.lit(family)}) as ${sql.ref(`${family}_at`)}`))}
    from (${sql.join(
      SEEN_FAMILIES.map((family) => appearancesIn(family, rowsOf(family))),
      sql` union all `,
    )}) as appearance group by kind, key, source, day
  )`;

/** An event that is about to be erased or superseded. */
interface Leaving {
  readonly eventId: string;
  readonly occurredAt: string | Date;
}

/**
 * Takes events out of `seen` and `seen_days` that are erased or superseded in the same transaction. Those that no
 * roll-up has counted will not be counted.
 */
export async function uncountSeen(trx: Trx, events: readonly Leaving[]): Promise<void> {
  if (events.length === 0) return;
  await trx.selectFrom('seen_progress').select('next_position').forUpdate().execute();
  const ids = arrayLiteral(events.map(({ eventId }) => eventId));
  const times = arrayLiteral(
    events.map(({ occurredAt }) => (typeof occurredAt === 'string' ? occurredAt : occurredAt.toISOString())),
  );
  const rowsOf = (family: SeenFamily) => sql`
    select stored.* from unnest(${ids}::uuid[], ${times}::timestamptz[]) as leaving (id, at)
      join ${sql.table(TABLE_OF[family])} as stored on stored.event_id = leaving.id
        and stored.occurred_at >= leaving.at and stored.occurred_at < leaving.at + interval '1 millisecond'
    where ${NOT_SUPERSEDED}`;
  // An event is found in the log by the time of its receipt: see positionOf.
  const countedRowsOf = (family: SeenFamily) => sql`(${rowsOf(family)} and exists (
    select from log_tiles, unnest(event_ids, log_tiles.occurred_at) with ordinality as entry (id, at, number), seen_progress
    where received_to >= stored.received_at and received_from <= stored.received_at
      and entry.id = stored.event_id and entry.at = stored.occurred_at
      and first + number - 1 >= seen_progress.first_position and first + number - 1 < seen_progress.next_position))`;
  const isStanding = sql`event_id <> all(${ids}::uuid[]) and ${NOT_SUPERSEDED}`;
  const latest = (family: SeenFamily) =>
    sql`case kind ${sql.join(
      SEEN_KINDS.flatMap((kind) => {
        const found = latestOf(family, kind, isStanding);
        return found === undefined ? [] : [sql`when ${sql.lit(kind)} then ${found}`];
      }),
      sql` `,
    )} end`;
  await run(trx)`
    with ${counts(countedRowsOf)}
    update seen_days set ${sql.join(COUNTED.map((name) => sql`${sql.ref(name)} = seen_days.${sql.ref(name)} - counted.${sql.ref(name)}`))}
    from counted
    where (seen_days.kind, seen_days.key, seen_days.source, seen_days.day)
      = (counted.kind, counted.key, counted.source, counted.day)`;
  // Also of those that are not counted: their times may be the latest, of an erasure before.
  const { keys } = await onlyRow<{ keys: string | null }>(trx)`
    select json_agg(distinct jsonb_build_array(kind, key, source))::text as keys
    from (${sql.join(
      SEEN_FAMILIES.map((family) => appearancesIn(family, sql`(${rowsOf(family)})`)),
      sql` union all `,
    )}) as appearance`;
  const isAffected = (table: string) => sql<boolean>`
    (${sql.ref(`${table}.kind`)}, ${sql.ref(`${table}.key`)}, ${sql.ref(`${table}.source`)}) in (
      select one ->> 0, one ->> 1, one ->> 2 from jsonb_array_elements(${keys ?? '[]'}::jsonb) as one)`;
  await trx.deleteFrom('seen_days').where('events', '=', '0').where(isAffected('seen_days')).execute();
  await run(trx)`
    with latest as (
      select kind, key, source, ${sql.join(SEEN_FAMILIES.map((family) => sql`${latest(family)} as ${sql.ref(`${family}_at`)}`))}
      from seen where ${isAffected('seen')}
    ), gone as (
      delete from seen using latest
      where (seen.kind, seen.key, seen.source) = (latest.kind, latest.key, latest.source)
        and coalesce(latest.audit_at, latest.location_at, latest.log_at) is null
    )
    update seen set audit_at = latest.audit_at, location_at = latest.location_at, log_at = latest.log_at
    from latest
    where (seen.kind, seen.key, seen.source) = (latest.kind, latest.key, latest.source)
      and coalesce(latest.audit_at, latest.location_at, latest.log_at) is not null`;
}

/** Deletes days that are no longer shown, and people and devices whose last events retention has dropped. */
export async function pruneSeen(db: Db, now: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.selectFrom('seen_progress').select('next_position').forUpdate().execute();
    await trx
      .deleteFrom('seen_days')
      .where('day', '<=', sql<Date>`(${now}::timestamptz at time zone 'UTC')::date - ${sql.lit(SEEN_DAYS)}`)
      .execute();
    for (const family of SEEN_FAMILIES) {
      const at = sql.ref(`${family}_at`);
      const others = sql.join(
        SEEN_FAMILIES.filter((one) => one !== family).map((one) => sql.ref(`${one}_at`)),
      );
      // By the months that are gone, not by the oldest event: its time is what a sender wrote.
      const isDropped = sql`${at} < (
        select max(ended_at) from gaps where reason = 'retention' and ended_at <= recorded_at
          and message_type in (${typesIn(family)}))`;
      await run(trx)`delete from seen where ${isDropped} and coalesce(${others}) is null`;
      await run(trx)`update seen set ${at} = null where ${isDropped}`;
    }
  });
}
