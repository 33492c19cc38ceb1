import { sql, type RawBuilder } from 'kysely';
import { typesOfFamily, type MessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { RecordKind } from '../../events/record-kind.ts';
import { kindOfRow } from '../events/event-kinds.ts';
import type { SeenKind } from '../server/schema/count-tables.ts';

/** The families of events that name people and devices, with the column of `seen` that has their time. */
export const SEEN_FAMILIES = ['audit', 'location', 'log'] as const;

export type SeenFamily = (typeof SEEN_FAMILIES)[number];

/** The message types that a person acts in. `GDPR_LOG_ALL` names the administrator who deleted or downloaded the data. */
const ACTS_OF = {
  administrator: ['AUDIT_LOG_ALL', 'GDPR_LOG_ALL'],
  user: ['AUTHENTICATION_LOG_ALL', 'ACCOUNTING_LOG_ALL', 'CREDENTIAL_LOG_ALL'],
} as const satisfies Readonly<Record<string, readonly MessageType[]>>;

/** A person or device in the rows of a family: which of them, its key and name, and which rows. */
interface Appearance {
  readonly kind: SeenKind;
  readonly key: string;
  readonly name: string;
  readonly types: readonly MessageType[];
  readonly counts?: Readonly<Partial<Record<'logins' | 'changes' | 'keys', readonly RecordKind[]>>>;
}

/** The name of a host has at most 253 characters (RFC 1035), but a sender may write anything. */
const HOST_NAME = 'left(nas_identifier, 253)';

const APPEARANCES: Readonly<Record<SeenFamily, readonly Appearance[]>> = {
  audit: [
    {
      kind: 'administrator',
      key: 'fold_name(user_name)',
      name: 'user_name',
      types: typesOfFamily('audit'),
      counts: { logins: ['login'], changes: ['configuration'], keys: ['ppskCreated', 'ppskDeleted'] },
    },
  ],
  location: [
    { kind: 'client', key: 'client_mac::text', name: 'null::text', types: typesOfFamily('location') },
    { kind: 'access point', key: 'ap_mac::text', name: 'null::text', types: typesOfFamily('location') },
  ],
  log: [
    { kind: 'administrator', key: 'fold_name(username)', name: 'username', types: ['GDPR_LOG_ALL'] },
    {
      kind: 'user',
      key: 'fold_name(username)',
      name: 'username',
      types: ACTS_OF.user,
      counts: { logins: ['authentication'] },
    },
    {
      kind: 'client',
      key: 'client_mac::text',
      name: 'null::text',
      types: typesOfFamily('log').filter((type) => type !== 'GDPR_LOG_ALL'),
    },
    { kind: 'access point', key: 'ap_mac::text', name: HOST_NAME, types: typesOfFamily('log') },
  ],
};

/**
 * The people and devices that rows of a family's table name: one row for each in each event. The event may claim to be of
 * the future, but they were seen when it was received at the latest.
 */
export function appearancesIn(family: SeenFamily, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const parts = APPEARANCES[family].map(({ kind, key, name, types, counts = {} }) => {
    const isOne = (kinds: readonly RecordKind[] = []) =>
      kinds.length === 0
        ? sql`false`
        : sql`${kindOfRow(family)} in (${sql.join(kinds.map((one) => sql.lit(one)))})`;
    return sql`
      (${sql.lit(kind)}, ${sql.raw(key)}, ${sql.raw(name)},
        message_type in (${sql.join(types.map((type) => sql.lit(type)))}) and ${sql.raw(key)} <> '',
        ${isOne(counts.logins)}, ${isOne(counts.changes)}, ${isOne(counts.keys)})`;
  });
  return sql`
    select ${sql.lit(family)} as family, one.kind, one.key, one.name, source, least(occurred_at, received_at) as seen_at, is_login, is_change, is_key
    from ${rows} as event cross join lateral (values ${sql.join(parts)})
      as one (kind, key, name, is_named, is_login, is_change, is_key)
    where is_named`;
}

/**
 * The time of the latest event of a family that names a person or device of `seen`, as a subquery on the columns of its row, without
 * the events with these ids.
 */
export function latestOf(
  family: SeenFamily,
  kind: SeenKind,
  isStanding: RawBuilder<unknown>,
): RawBuilder<unknown> | undefined {
  const found = APPEARANCES[family].find((one) => one.kind === kind);
  if (found === undefined) return undefined;
  const isKey = found.key.endsWith('::text')
    ? sql`${sql.raw(found.key.replace('::text', ''))} = seen.key::macaddr`
    : sql`${sql.raw(found.key)} = seen.key`;
  const rows = sql`
    select occurred_at, received_at from ${sql.table(TABLE_OF[family])} as event
    where ${isKey} and event.source = seen.source
      and message_type in (${sql.join(found.types.map((type) => sql.lit(type)))}) and ${isStanding}`;
  // An index has the latest of the past. Only events of the future are compared one by one.
  return sql`(
    select max(least(occurred_at, received_at)) from (
      (${rows} and occurred_at <= now() order by occurred_at desc limit 1)
      union all ${rows} and occurred_at > now()) as latest)`;
}
