import { FAMILY_OF, MESSAGE_TYPES, type Family, type MessageType } from './domain.ts';

/**
 * The type of a column. `key` is text in an index, so it is short (an index entry of Postgres has at most 2,704 bytes).
 * A value that does not fit the kind leaves the column null and stays in `payload`.
 */
export type FieldKind =
  | 'text'
  | 'key'
  | 'key[]'
  | 'bigint'
  | 'bigint[]'
  | 'boolean'
  | 'double precision'
  | 'timestamptz'
  | 'inet'
  | 'macaddr'
  | 'jsonb';

/** One typed column of a message type, and the members that its value is read from. */
export interface Field<Column extends string = string, Kind extends FieldKind = FieldKind> {
  readonly column: Column;
  readonly kind: Kind;
  /** Members that may have the value; the first one that does is used. */
  readonly members: readonly string[];
}

const camelCase = (snake: string) =>
  snake.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A field that is read from the column's own name, in camelCase and snake_case, then from further names. */
function field<const Column extends string, Kind extends FieldKind>(
  column: Column,
  kind: Kind,
  ...further: string[]
): Field<Column, Kind> {
  const members = [column, ...further].flatMap((name) => [camelCase(name), name]);
  return { column, kind, members: [...new Set(members)] };
}

/** Members that every record may have (specification, "Webhook audit-log delivery record"). */
export const OWNER_ID = field('owner_id', 'bigint');
export const ORG_ID = field('org_id', 'bigint');

/**
 * The members with a record's own time, best first. `timeStamp` is in epoch milliseconds. A location observation has
 * `seenEpoch` (milliseconds) and `seenTime` (ISO 8601), which are more exact than the record's time.
 */
export const OCCURRED_AT: Readonly<Record<Family, Field>> = {
  audit: field('occurred_at', 'timestamptz', 'time_stamp', 'timestamp'),
  location: field('occurred_at', 'timestamptz', 'seen_epoch', 'seen_time', 'time_stamp', 'timestamp'),
  log: field('occurred_at', 'timestamptz', 'time_stamp', 'timestamp'),
  alerts: field('occurred_at', 'timestamptz', 'time_stamp', 'timestamp'),
  other: field('occurred_at', 'timestamptz', 'time_stamp', 'timestamp'),
};

const RECORD_ID = field('record_id', 'key', 'id');

const AUDIT = [
  RECORD_ID,
  field('user_id', 'bigint'),
  field('code', 'bigint'),
  field('category', 'bigint'),
  field('description', 'text'),
  field('user_name', 'key', 'username'),
  field('vhm_name', 'text'),
  field('org_name', 'text'),
  field('device_count', 'bigint'),
  field('host_names', 'key[]'),
  field('config', 'jsonb'),
  field('device_ids', 'bigint[]'),
];

const OBSERVED = [
  field('client_mac', 'macaddr'),
  field('ap_mac', 'macaddr'),
  field('ipv4', 'inet'),
  field('rssi', 'double precision'),
  field('lat', 'double precision'),
  field('lng', 'double precision'),
];

const LOCATION_AP_CENTRIC = [
  ...OBSERVED,
  field('ipv6', 'inet'),
  field('ssid', 'text'),
  field('manufacturer', 'text'),
  field('os', 'text'),
  field('unc', 'double precision'),
  field('x', 'double precision'),
  field('y', 'double precision'),
];

const LOCATION_CLIENT_CENTRIC = [...OBSERVED, field('location_id_hierarchy', 'bigint[]')];

const GDPR = [
  field('record_id', 'key', 'id', 'log_id'),
  field('start_time', 'timestamptz', 'start'),
  field('end_time', 'timestamptz', 'end'),
  field('status', 'text'),
  field('category', 'text'),
  field('client_mac', 'macaddr', 'mac', 'mac_address'),
  field('username', 'key', 'admin', 'user_name'),
  field('description', 'text'),
];

const CREDENTIAL = [RECORD_ID, field('username', 'key', 'user_name'), field('vhm_id', 'text')];

const ACCESS = [
  RECORD_ID,
  field('username', 'key', 'user_name'),
  field('vhm_id', 'text'),
  field('called_station_id', 'text'),
  field('calling_station_id', 'text'),
  // A station id starts with the MAC address; an access point's continues with ":SSID" (RFC 3580, 3.20 and 3.21).
  field('client_mac', 'macaddr', 'calling_station_id'),
  field('ap_mac', 'macaddr', 'called_station_id'),
  field('device_serial_number', 'key', 'sn'),
  field('ssid', 'text'),
  field('identity', 'text'),
  field('nas_port_type', 'text'),
  field('nas_identifier', 'text'),
  field('mgmt_mac_address', 'macaddr'),
];

const ACCOUNTING = [
  ...ACCESS,
  field('acct_session_id', 'text'),
  field('acct_multi_id', 'text'),
  field('group_name', 'text'),
  field('nas_ip_address', 'inet'),
  field('nas_port', 'text'),
  field('acct_start_time', 'timestamptz'),
  field('acct_stop_time', 'timestamptz'),
  field('acct_session_time', 'bigint'),
  field('acct_authentic', 'text'),
  field('connect_info', 'text'),
  field('acct_input_octets', 'bigint'),
  field('acct_output_octets', 'bigint'),
  field('acct_terminate_cause', 'text'),
  field('service_type', 'text'),
  field('framed_ip_address', 'inet'),
  field('acct_start_delay', 'bigint'),
  field('acct_stop_delay', 'bigint'),
  field('attribute_num', 'bigint'),
  field('event_time', 'timestamptz'),
];

const AUTHENTICATION = [
  ...ACCESS,
  field('auth_type', 'text'),
  field('reply', 'text'),
  field('auth_date', 'timestamptz'),
  field('reject_reason', 'text'),
];

const EMAIL = [
  RECORD_ID,
  field('username', 'key', 'user_name'),
  field('user_id', 'bigint'),
  field('customer_id', 'text'),
  field('approver_email', 'text'),
  field('status', 'text'),
];

const SMS = [
  RECORD_ID,
  field('username', 'key', 'user_name'),
  field('user_id', 'bigint'),
  field('customer_id', 'text'),
  field('tel', 'text'),
  field('profile_name', 'text'),
  field('status', 'text'),
  field('message_id', 'text'),
  field('status_from_provider', 'text'),
  field('provider_type', 'text'),
];

/** The member of an alert that contains its source, and the columns that are read from there. */
export const ALERT_SOURCE = 'source';
export const ALERT_SOURCE_FIELDS = [
  field('alert_source_id', 'key', 'source_id'),
  field('alert_source_name', 'key', 'source_name'),
  field('alert_source_type', 'text', 'source_type'),
  field('alert_source_type_id', 'text', 'source_type_id'),
];

const ALERT = [
  RECORD_ID,
  field('summary', 'text'),
  field('severity_id', 'bigint'),
  field('severity_name', 'text'),
  field('category_id', 'bigint'),
  field('category_name', 'text'),
  field('message_metadata_id', 'bigint'),
  field('message_metadata_type', 'text'),
  ...ALERT_SOURCE_FIELDS,
  field('site_id', 'bigint'),
  field('site_name', 'text'),
  field('alert_policy_id', 'bigint'),
  field('alert_policy_name', 'text'),
  field('alert_rule_id', 'bigint'),
  field('acknowledged', 'boolean'),
  field('acknowledged_username', 'text'),
  field('tags', 'jsonb'),
];

/** The name of a message type that this program does not know: a fact of the delivery, which no record contains. */
export const SENT_TYPE: Field<'sent_type', 'key'> = { column: 'sent_type', kind: 'key', members: [] };

/**
 * The typed columns of each message type. The audit record is the specification's; location records
 * are as published by the vendor and seen by older receivers; the shapes of the other webhook payloads
 * are not published, so these are the members of the REST API's log records and alerts (`XiqAlert`).
 */
const FIELDS_OF_TYPE = {
  AUDIT_LOG_ALL: AUDIT,
  LOCATION_AP_CENTRIC,
  LOCATION_CLIENT_CENTRIC,
  GDPR_LOG_ALL: GDPR,
  CREDENTIAL_LOG_ALL: CREDENTIAL,
  ACCOUNTING_LOG_ALL: ACCOUNTING,
  AUTHENTICATION_LOG_ALL: AUTHENTICATION,
  EMAIL_LOG_ALL: EMAIL,
  SMS_LOG_ALL: SMS,
  ALERT,
  OTHER: [SENT_TYPE],
} satisfies Record<MessageType, readonly Field[]>;

/** The same for code that does not know the columns by name. */
export const FIELDS: Readonly<Record<MessageType, readonly Field[]>> = FIELDS_OF_TYPE;

/** The typed columns of a family's table: those of its message types. */
export type FieldsOf<F extends Family> = {
  [Type in MessageType]: (typeof FAMILY_OF)[Type] extends F ? (typeof FIELDS_OF_TYPE)[Type][number] : never;
}[MessageType];

/** The members with observations: of clients by one access point, or of one client by access points. */
export const OBSERVATION_LISTS = ['observations', 'deviceObservers', 'device_observers'] as const;

/** The members of a record whose elements become events of their own. The first one that is filled is used. */
export const listsOf = (messageType: MessageType): readonly string[] =>
  FAMILY_OF[messageType] === 'location' ? OBSERVATION_LISTS : [];

/** The table that contains each family's events. */
export const TABLE_OF = {
  audit: 'audit_events',
  location: 'location_observations',
  log: 'log_entries',
  alerts: 'alerts_received',
  other: 'other_events',
} as const satisfies Readonly<Record<Family, string>>;

/** The table that contains a message type's events. */
export const tableOf = (messageType: MessageType) => TABLE_OF[FAMILY_OF[messageType]];

/** The message types whose events are in a table. */
export const typesOfTable = (table: string) => MESSAGE_TYPES.filter((type) => tableOf(type) === table);
