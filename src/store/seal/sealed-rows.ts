import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, typesOfFamily, type Family, type MessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import { unionAll, rowByKey } from '../server/condition.ts';
import type { Db, Trx } from '../server/database.ts';
import { TILE_ENTRIES } from '../log/extend-log.ts';
import { isSource } from '../server/scope.ts';
import { bytesBefore, FITS, payloadBytes } from '../server/fitting-rows.ts';
import { allRows, firstRow, onlyRow, run } from '../server/statement.ts';

/**
 * The columns of the sealed form of each family, in their order, after the envelope and before the payload: those of
 * version 1, then what each later version added. A list that was released never changes; a column that a later release
 * adds is in a list of the next version. `xid` is not among them: it belongs to the server, and a move to another one
 * changes it.
 */
const SEALED_COLUMNS: Readonly<Record<Family, readonly string[]>> = {
  audit: [
    `user_id code category device_count device_ids host_names record_id user_name vhm_name org_name description config`,
  ],
  location: [`rssi lat lng unc x y client_mac ap_mac ipv4 ipv6 ssid manufacturer os location_id_hierarchy`],
  log: [
    `user_id start_time end_time event_time auth_date acct_start_time acct_stop_time acct_session_time
    acct_input_octets acct_output_octets acct_start_delay acct_stop_delay attribute_num client_mac ap_mac
    mgmt_mac_address nas_ip_address framed_ip_address record_id username status category description vhm_id customer_id
    device_serial_number ssid identity called_station_id calling_station_id nas_identifier nas_port nas_port_type
    group_name acct_session_id acct_multi_id acct_authentic acct_terminate_cause connect_info service_type auth_type
    reply reject_reason approver_email tel profile_name message_id status_from_provider provider_type`,
  ],
  alerts: [
    `severity_id category_id message_metadata_id site_id alert_policy_id alert_rule_id acknowledged record_id
    summary severity_name category_name message_metadata_type alert_source_id alert_source_name alert_source_type
    alert_source_type_id site_name alert_policy_name acknowledged_username tags`,
  ],
  other: ['sent_type'],
};

/** The version by which rows are sealed from now on. Those of before are compared by theirs. */
export const SEALED_VERSION = Math.max(...Object.values(SEALED_COLUMNS).map(({ length }) => length));

const ENVELOPE =
  'id event_id delivery_id place source message_type origin occurred_at received_at owner_id org_id';

/** The sealed form of a row of a family: a JSON array of the table, the version and the columns. */
const sealedForm = (family: Family, version: number): RawBuilder<unknown> => {
  const columns = [ENVELOPE, ...SEALED_COLUMNS[family].slice(0, version), 'payload'].join(' ').split(/\s+/);
  return sql`json_build_array(${sql.lit(TABLE_OF[family])}::text, ${sql.lit(version)}::int, ${sql.join(
    columns.map((column) => sql.ref(`row.${column}`)),
  )})::text`;
};

/** Lets the rest of a transaction find rows by their keys. Values are printed as in every session (`SESSION`). */
export async function planByKeys(trx: Trx): Promise<void> {
  await run(trx)`
    select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`;
}

/** Events of the log by position: from the first one up to, and without, the next one. */
export interface Positions {
  readonly from: number;
  readonly to: number;
}

/** Events of some types that occurred from a time on, and before another one. */
export interface SealedPart extends WholeRange {
  readonly messageTypes: readonly MessageType[];
}

const isOfPart = ({
  messageTypes,
  since,
  until,
}: SealedPart) => sql`message_type = any(${messageTypes}::text[])
  and entry.occurred_at >= ${since}::timestamptz and entry.occurred_at < ${until}::timestamptz`;

/** Which events to print in their sealed form, and by which version of it. */
export interface SealedEvents extends Positions {
  readonly version: number;
  /** Only those of this source. */
  readonly source?: string | undefined;
  /** Only those of these types and of this time. */
  readonly part?: SealedPart | undefined;
  /** The time of the last checkpoint before them: what was received long before it was sealed late. */
  readonly signedBefore?: Date | undefined;
}

/** What is received is sealed within minutes, unless a queue or a spool kept it. */
const LATE_MS = 24 * 60 * 60 * 1000;

/** Events that were received so long before a checkpoint without them are sealed late. Undefined: there was none before. */
export const lateBefore = (signedBefore: Date | undefined): Date | undefined =>
  signedBefore && new Date(signedBefore.getTime() - LATE_MS);

const FAMILIES_OF_TYPES = sql.join(
  FAMILIES.map(
    (family) => sql`(${sql.lit(family)}::text, ${sql.lit(`{${typesOfFamily(family).join(',')}}`)}::text[])`,
  ),
);

/**
 * The entries of the log and the sealed form of their rows, as a subquery of `position`, `event_id`, `occurred_at`,
 * `source`, `message_type`, `received_at` and `record`; the last two are null where the row is gone. A position comes twice if
 * the archive has a second row of it.
 */
async function sealedRows(
  trx: Trx,
  { from, to, version, source, part }: SealedEvents,
  form = sealedForm,
): Promise<RawBuilder<unknown>> {
  const pieces = sql`log_tiles where first > ${from}::bigint - ${sql.lit(TILE_ENTRIES)}
    and first < ${to}::bigint`;
  // With the bounds of each family, the server looks into the months alone that have one of its events.
  const bounds = await allRows<{ family: Family; from: string; to: string }>(trx)`
    select family, min(at)::text as "from", max(at)::text as "to"
    from (select * from ${pieces} offset 0) as tile, unnest(kinds, occurred_at) as entry (kind, at)
      join log_kinds using (kind) join (values ${FAMILIES_OF_TYPES}) as families (family, types) on message_type = any(types)
    group by family`;
  const ofFamily = ({ family, ...bound }: (typeof bounds)[number]) => {
    const isEntry = sql`occurred_at = entries.occurred_at and event_id = entries.event_id
      and occurred_at between ${bound.from}::timestamptz and ${bound.to}::timestamptz`;
    return sql`
      select position, entries.event_id, entries.occurred_at, entries.source, entries.message_type,
        row.received_at, case when row.event_id is not null then ${form(family, version)} end as record
      from entries left join ${rowByKey(TABLE_OF[family], isEntry, 2)} as row on true
      where entries.message_type = any(${typesOfFamily(family)}::text[])`;
  };
  const none = sql`select 0::bigint, null::uuid, null::timestamptz, null::text, null::text,
    null::timestamptz, null::text where false`;
  return sql`(
    with entries as materialized (
      select first + number - 1 as position, source, message_type, entry.occurred_at, entry.event_id
      from (select * from ${pieces} offset 0) as tile,
        unnest(kinds, tile.occurred_at, event_ids) with ordinality as entry (kind, occurred_at, event_id, number)
        join log_kinds using (kind)
      where first + number - 1 >= ${from}::bigint and first + number - 1 < ${to}::bigint
        and ${isSource(source)} and ${part === undefined ? sql`true` : isOfPart(part)}
    )
    ${bounds.length === 0 ? none : unionAll(bounds.map(ofFamily))})`;
}

export interface EventHashes {
  /** Leaf hashes one after another, of the positions that the log has. A row that is gone has the sealed form `null`. */
  readonly hashes: Buffer;
  readonly positions: readonly number[];
  /** Events that were received long before the last checkpoint before them, and the earliest of these. */
  readonly late: LateEvents;
}

/** Events that were sealed long after they were received: nothing shows whether they were changed in between. */
export interface LateEvents {
  readonly count: number;
  readonly earliest: Date | null;
}

/**
 * Computes the leaf hashes of consecutive events, as SHA-256 over a zero byte, 16 bytes of salt and the sealed form. The
 * salts lie one after another; with a source, only its events are hashed. The rows do not leave the server. Call `planByKeys` before.
 */
export async function hashEvents(trx: Trx, range: SealedEvents, salts: Buffer): Promise<EventHashes> {
  const rows = await sealedRows(trx, range);
  const salt = sql`substring(${salts}::bytea from ((position - ${range.from}::bigint) * 16 + 1)::int for 16)`;
  const isLate = sql`received_at < ${lateBefore(range.signedBefore) ?? '-infinity'}::timestamptz`;
  const { hashes, positions, ...late } = await onlyRow<
    LateEvents & { hashes: Buffer | null; positions: string[] | null }
  >(trx)`
    select string_agg(hash, ''::bytea order by position) as hashes,
      array_agg(position order by position) filter (where expected <> position) as positions,
      count(*) filter (where ${isLate})::float8 as count, min(received_at) filter (where ${isLate}) as earliest
    from (
      select position, received_at, hash, ${range.from}::bigint - 1 + row_number() over (order by position) as expected
      from (
        select position, received_at,
          sha256('\\x00'::bytea || ${salt} || convert_to(coalesce(record, 'null'), 'UTF8')) as hash
        from ${rows} as rows offset 0) as unsorted) as hashed`;
  const bytes = hashes ?? Buffer.alloc(0);
  const count = bytes.length / 32;
  const shifted = positions?.map(Number) ?? [];
  // Only from the first gap on do the positions differ from a plain count.
  const plain = Array.from({ length: count - shifted.length }, (_, index) => range.from + index);
  return { hashes: bytes, positions: [...plain, ...shifted], late };
}

export interface SealedEvent {
  readonly position: number;
  /** Null: the event was erased. */
  readonly eventId: string | null;
  readonly occurredAt: Date | null;
  readonly source: string;
  readonly messageType: MessageType;
  /** Null: the row is gone. */
  readonly receivedAt: Date | null;
  /** Null: the row is gone. */
  readonly record: string | null;
}

/**
 * Reads consecutive events of the log in their sealed form, as many at a time as can be read at once. Call `planByKeys`
 * before.
 */
export async function* sealedEvents(trx: Trx, range: SealedEvents): AsyncGenerator<readonly SealedEvent[]> {
  for (let { from } = range; from < range.to;) {
    const sized = await sealedRows(
      trx,
      { ...range, from },
      () => sql`(${payloadBytes(sql`row.payload`)})::text`,
    );
    const next = await firstRow<{ position: number }>(trx)`
      select position::float8 from (
        select position, ${bytesBefore(sql`record::bigint`, sql`order by position`)} as bytes_before
        from ${sized} as sized) as summed
      where not (${FITS}) order by position limit 1`;
    const to = next?.position ?? range.to;
    yield await readSealedEvents(trx, { ...range, from, to });
    from = to;
  }
}

/** The form of rows of which only matters whether they are there. */
export const NOTHING = () => sql`''::text`;

/** Reads few consecutive events of the log, in their sealed form or another one. Call `planByKeys` before. */
export async function readSealedEvents(trx: Trx, range: SealedEvents, form?: typeof sealedForm) {
  const rows = await sealedRows(trx, range, form);
  return allRows<SealedEvent>(trx)`
    select position::float8, event_id as "eventId", occurred_at as "occurredAt", source,
      message_type as "messageType", received_at as "receivedAt", record
    from ${rows} as rows order by position`;
}

/** Runs work that reads sealed forms, in a transaction that changes nothing. */
export async function readingSealed<T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (trx) => {
      await planByKeys(trx);
      return work(trx);
    });
}
