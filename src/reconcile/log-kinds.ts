import type { HistoryKind } from '../cloud/contract/logs.ts';
import { MESSAGE_TYPES, type MessageType } from '../events/domain.ts';
import { isJsonObject } from '../events/exact-json.ts';
import { ALERT_SOURCE, ALERT_SOURCE_FIELDS, FIELDS } from '../events/message-types.ts';
import { DAY_MS } from '../lib/clock.ts';

/** The history that the API has of a message type. `src/cloud/contract/logs.ts` has page limits and the longest query. */
interface LogHistory {
  /** The path is `/logs/KIND`, that of alerts `/alerts`. */
  readonly kind: HistoryKind;
  /** The permission that reading it takes. */
  readonly permission: 'log:r' | 'alert:r';
  /** How far back the cloud keeps the log, in milliseconds. Undefined: not published. */
  readonly reachMs: number | undefined;
  /**
   * The columns that, with the time, make a log record and a webhook the same event. Left out: `id` (null in a webhook),
   * organization and category (0 or a number in a webhook, others in the log), and members that change later.
   */
  readonly key: readonly string[];
  /** A column that is a part of the key where a webhook and a log record have the same value in it. */
  readonly sharedId?: string;
  /** A text of which one side may have only the beginning. */
  readonly text?: string;
  /** What changes after the event: the latest value is in `history_records`. */
  readonly status?: string;
}

/**
 * The message types with a history. There is none of GDPR and location events. The retention of audit and authentication
 * logs is documented by the vendor, that of the others and of alerts is not.
 */
const LOG_HISTORIES = {
  AUDIT_LOG_ALL: {
    kind: 'audit',
    permission: 'log:r',
    reachMs: 30 * DAY_MS,
    // One person may cause many events of one code within a millisecond: their descriptions distinguish them. The log has
    // a summary, which may be the beginning of the webhook's description, or the other way round.
    key: ['user_id', 'code'],
    text: 'description',
  },
  AUTHENTICATION_LOG_ALL: {
    kind: 'auth',
    permission: 'log:r',
    reachMs: 7 * DAY_MS,
    // A client repeats attempts within a second. The identity may differ from the user name (anonymous outer identity).
    key: ['calling_station_id', 'username', 'identity', 'reply', 'auth_date'],
  },
  ACCOUNTING_LOG_ALL: {
    kind: 'accounting',
    permission: 'log:r',
    reachMs: undefined,
    // A session has a start, updates and a stop: the times and the counted bytes distinguish them.
    key: [
      'acct_session_id',
      'event_time',
      'acct_start_time',
      'acct_stop_time',
      'acct_input_octets',
      'acct_output_octets',
    ],
  },
  CREDENTIAL_LOG_ALL: {
    kind: 'credential',
    permission: 'log:r',
    reachMs: undefined,
    // The log has nothing else.
    key: ['username', 'vhm_id'],
  },
  EMAIL_LOG_ALL: {
    kind: 'email',
    permission: 'log:r',
    reachMs: undefined,
    key: ['username', 'user_id', 'customer_id', 'approver_email'],
    status: 'status',
  },
  SMS_LOG_ALL: {
    kind: 'sms',
    permission: 'log:r',
    reachMs: undefined,
    // The id of the message comes from the provider, so it may come later, as the status does.
    key: ['user_id', 'customer_id', 'tel', 'profile_name'],
    status: 'status',
  },
  ALERT: {
    kind: 'alerts',
    permission: 'alert:r',
    reachMs: undefined,
    // The webhook is not published. Both sides surely say which rule of which policy was broken, and by whom; texts may
    // differ, and an alert is acknowledged later. One source may break a rule twice within seconds: if the webhook has
    // the id of the alert, that distinguishes them, but its `id` could also be that of the message.
    key: ['alert_policy_id', 'alert_rule_id', 'alert_source_id'],
    sharedId: 'record_id',
    status: 'acknowledged',
  },
} as const satisfies Partial<Record<MessageType, LogHistory>>;

export type LoggedType = keyof typeof LOG_HISTORIES;

/** The message types with a history. */
export const LOGGED_TYPES = MESSAGE_TYPES.filter((type): type is LoggedType => type in LOG_HISTORIES);

export const historyOf = (messageType: LoggedType): LogHistory => LOG_HISTORIES[messageType];

/** Those of these message types that have a history. */
export const loggedAmong = (messageTypes: readonly MessageType[]): LoggedType[] =>
  LOGGED_TYPES.filter((type) => messageTypes.includes(type));

/** A record in one of its two forms: of a webhook (camelCase) or of a log (snake_case). */
type AnyRecord = Readonly<Record<string, unknown>>;

/** Returns the function that reads a column from a record of either form as text, however it is written; empty without one. */
export function columnReader(messageType: LoggedType, column: string): (record: AnyRecord) => string {
  const members = FIELDS[messageType].find((field) => field.column === column)?.members ?? [];
  const isOfSource = ALERT_SOURCE_FIELDS.some((field) => field.column === column);
  const read = (record: AnyRecord) => {
    for (const member of members) {
      const value = record[member];
      if (value === undefined || value === null || !Object.hasOwn(record, member)) continue;
      return typeof value === 'string' ? value.trim() : JSON.stringify(value);
    }
    return '';
  };
  if (!isOfSource) return read;
  return (record) => {
    const source = record[ALERT_SOURCE];
    return read(record) || (isJsonObject(source) ? read(source) : '');
  };
}

/**
 * Returns the function that makes the natural key of a record of either form. The payloads of all webhooks but the audit
 * log's are not published: a column that no record of one of the two sides has cannot distinguish events, and is left out.
 */
export function keyMaker(
  messageType: LoggedType,
  webhooks: readonly AnyRecord[],
  logged: readonly AnyRecord[],
): (record: AnyRecord) => string {
  const { key, sharedId } = historyOf(messageType);
  const readers = key
    .map((column) => columnReader(messageType, column))
    .filter((read) => [webhooks, logged].every((records) => records.some((record) => read(record) !== '')));
  const keyOf = (record: AnyRecord) => readers.map((read) => read(record)).join('\0');
  if (sharedId === undefined) return keyOf;
  const idOf = columnReader(messageType, sharedId);
  const withId = (record: AnyRecord) => `${keyOf(record)}\0${idOf(record)}`;
  const known = new Set(webhooks.map(withId));
  return logged.some((record) => idOf(record) !== '' && known.has(withId(record))) ? withId : keyOf;
}
