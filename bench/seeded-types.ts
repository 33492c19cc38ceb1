import { CLOUD_TYPES } from '../src/events/domain.ts';
import type { CloudType } from '../src/events/domain.ts';
import { tableOf } from '../src/events/message-types.ts';

/** The number of each among the seeded events. */
export const POPULATION = { users: 3_000, clients: 30_000, accessPoints: 300, codes: 150 } as const;

/** How seeded events of one type are generated. */
interface SeededType {
  readonly messageType: CloudType;
  /** The share of all events. */
  readonly share: number;
  /** Inserts $1 events between $2 and $3, in the order of time; each client belongs to one of the sources $4. */
  readonly statement: string;
}

/** The MAC address of a client or an access point by its number, as 12 digits in SQL. */
const macOf = (vendor: string, number: string) =>
  `'${vendor}' || lpad(to_hex((${number}::bigint * 7919) % 16777216), 6, '0')`;

/** Draws for each event: a user, a client of theirs, an access point; few of each are busy, most are not. */
const DRAWN = `
  select g, $2::timestamptz + ($3::timestamptz - $2::timestamptz) * ((g - random()) / $1::float8) as t,
         floor(power(random(), 2) * ${POPULATION.clients})::int as client,
         floor(power(random(), 1.5) * ${POPULATION.accessPoints})::int as any_ap,
         floor(power(random(), 4) * ${POPULATION.codes})::int as code,
         round((random() * 80)::numeric, 1)::float8 as x, round((random() * 50)::numeric, 1)::float8 as y,
         -40 - floor(random() * 50)::int as rssi, floor(random() * 1e9)::bigint as number
  from generate_series(1, $1::int) as g`;

/** Names what was drawn. An access point belongs to one source, as a client does. */
const NAMED = `
  select date_trunc('milliseconds', t) as t, floor(extract(epoch from t) * 1000)::bigint as ms, rssi, x, y, number,
         ${macOf('f0d1a9', 'client')} as client, ${macOf('001977', 'ap')} as ap, 10000 + code as code,
         (array['anna','bela','carl','dora','emil','fritz','gerda','hans'])[1 + client % 8] || '.' ||
         (array['adler','brandt','cohen','dietz','engel','fuchs','gross','huber','ionescu'])[1 + client % 9] ||
         client % ${POPULATION.users} || '@example.com' as username,
         (array['Apple','Samsung','Intel','Raspberry Pi'])[1 + client % 4] as vendor,
         (array['iOS','Android','Windows','Linux'])[1 + client % 4] as os,
         (array['corp','guest','iot'])[1 + client % 3] as ssid, g, client as client_number, ap as ap_number
  from (select *, any_ap - any_ap % cardinality($4::text[]) + client % cardinality($4::text[]) as ap
    from (${DRAWN}) as drawn) as placed`;

/** Members of every log record. */
const LOG = `'ownerId', 1234567, 'orgId', client_number % 5, 'timeStamp', ms, 'id', number`;

const ACCESS = `${LOG}, 'username', username, 'vhmId', 'VHM-EXAMPLE', 'calledStationId', ap || ':' || ssid,
  'callingStationId', client, 'deviceSerialNumber', 'SN' || lpad(ap_number::text, 8, '0'), 'ssid', ssid,
  'identity', username, 'nasPortType', 'Wireless-802.11', 'nasIdentifier', 'ap-' || ap_number, 'mgmtMacAddress', ap`;

const ACCESS_COLUMNS = `org_id, username, called_station_id, calling_station_id, client_mac, ap_mac,
  device_serial_number, ssid, identity, nas_port_type, nas_identifier, record_id`;

const ACCESS_VALUES = `client_number % 5, username, ap || ':' || ssid, client, client::macaddr, ap::macaddr,
  'SN' || lpad(ap_number::text, 8, '0'), ssid, username, 'Wireless-802.11', 'ap-' || ap_number, number::text`;

const SEEN = `'seenTime', to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+0000"'), 'seenEpoch', ms,
  'lat', 47.37 + y / 111000, 'lng', 8.54 + x / 75000, 'ipv4', '10.20.' || client_number / 250 || '.' || client_number % 250`;

/** Events of each type: their share, typed columns, the values of those, and the members of the payload. */
const TYPES: Readonly<Record<CloudType, readonly [number, string, string, string]>> = {
  LOCATION_AP_CENTRIC: [
    0.55,
    'client_mac, ap_mac, rssi, lat, lng, unc, x, y, ssid, manufacturer, os',
    'client::macaddr, ap::macaddr, rssi, 47.37 + y / 111000, 8.54 + x / 75000, 5, x, y, ssid, vendor, os',
    `'ownerId', '1234567', 'apMac', ap, 'observations', jsonb_build_array(jsonb_build_object('clientMac', client, ${SEEN},
      'ipv6', null, 'ssid', ssid, 'rssi', rssi, 'manufacturer', vendor, 'os', os, 'unc', 5, 'x', x, 'y', y))`,
  ],
  LOCATION_CLIENT_CENTRIC: [
    0.15,
    'client_mac, ap_mac, rssi, lat, lng, location_id_hierarchy',
    'client::macaddr, ap::macaddr, rssi, 47.37 + y / 111000, 8.54 + x / 75000, array[1, 20, 300 + ap_number]',
    `'clientMac', upper(client), ${SEEN}, 'deviceObservers', jsonb_build_array(jsonb_build_object('apMac', upper(ap),
      'rssi', rssi, 'locationIdHierarchy', jsonb_build_array(1, 20, 300 + ap_number)))`,
  ],
  AUDIT_LOG_ALL: [
    0.06,
    'org_id, user_id, code, category, user_name, description, vhm_name, host_names, device_ids',
    `client_number % 5, client_number % ${POPULATION.users}, code, 1, username, 'User ' || username || ' changed ' || ssid,
      'VHM-EXAMPLE', case when g % 4 = 0 then array['ap-' || ap_number] end, case when g % 4 = 0 then array[ap_number] end`,
    `'ownerId', 1234567, 'orgId', client_number % 5, 'timeStamp', ms, 'id', null, 'userId', client_number % ${POPULATION.users},
      'code', code, 'category', 1, 'description', 'User ' || username || ' changed ' || ssid || ' (session ' || md5(number::text) || ')',
      'userName', username, 'vhmName', 'VHM-EXAMPLE', 'orgName', null, 'deviceCount', null, 'config', null,
      'hostNames', case when g % 4 = 0 then jsonb_build_array('ap-' || ap_number) end,
      'deviceIds', case when g % 4 = 0 then jsonb_build_array(ap_number) end`,
  ],
  ACCOUNTING_LOG_ALL: [
    0.12,
    `${ACCESS_COLUMNS}, acct_session_id, acct_session_time, acct_input_octets, acct_output_octets, acct_terminate_cause`,
    `${ACCESS_VALUES}, md5(number::text), number % 3600, number, number / 3, 'User-Request'`,
    `${ACCESS}, 'acctSessionId', md5(number::text), 'acctSessionTime', number % 3600, 'acctInputOctets', number,
      'acctOutputOctets', number / 3, 'acctTerminateCause', 'User-Request', 'acctAuthentic', 'RADIUS', 'groupName', 'staff',
      'serviceType', 'Framed-User', 'framedIpAddress', '10.20.0.7', 'nasIpAddress', '10.20.0.1', 'eventTime', ms`,
  ],
  AUTHENTICATION_LOG_ALL: [
    0.08,
    `${ACCESS_COLUMNS}, auth_type, reply, reject_reason`,
    `${ACCESS_VALUES}, 'PEAP', case when g % 9 = 0 then 'Access-Reject' else 'Access-Accept' end,
      case when g % 9 = 0 then 'wrong password' end`,
    `${ACCESS}, 'authType', 'PEAP', 'authDate', ms, 'reply', case when g % 9 = 0 then 'Access-Reject' else 'Access-Accept' end,
      'rejectReason', case when g % 9 = 0 then 'wrong password' end`,
  ],
  CREDENTIAL_LOG_ALL: [
    0.01,
    'org_id, username, vhm_id, record_id',
    `client_number % 5, username, 'VHM-EXAMPLE', number::text`,
    `${LOG}, 'username', username, 'vhmId', 'VHM-EXAMPLE'`,
  ],
  EMAIL_LOG_ALL: [
    0.01,
    'org_id, username, status, record_id',
    `client_number % 5, username, 'SENT', number::text`,
    `${LOG}, 'username', username, 'status', 'SENT', 'approverEmail', 'desk@example.com'`,
  ],
  SMS_LOG_ALL: [
    0.01,
    'org_id, username, status, tel, record_id',
    `client_number % 5, username, 'DELIVERED', '+4179' || number % 10000000, number::text`,
    `${LOG}, 'username', username, 'status', 'DELIVERED', 'tel', '+4179' || number % 10000000, 'providerType', 'TWILIO'`,
  ],
  GDPR_LOG_ALL: [
    0.005,
    'org_id, username, client_mac, status, description, record_id',
    `client_number % 5, username, client::macaddr, 'COMPLETE', 'Personal data of the client ' || client || ' was erased', number::text`,
    `${LOG}, 'admin', username, 'mac', client, 'status', 'COMPLETE', 'category', 'CLIENT_DATA',
      'description', 'Personal data of the client ' || client || ' was erased'`,
  ],
  ALERT: [
    0.005,
    'org_id, record_id, summary, severity_id, severity_name, alert_source_id, alert_source_name, acknowledged',
    `client_number % 5, number::text, 'Access point ap-' || ap_number || ' is offline', 1, 'Critical', ap_number::text,
      'ap-' || ap_number, false`,
    `'owner_id', 1234567, 'org_id', client_number % 5, 'timestamp', to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'id', number::text, 'summary', 'Access point ap-' || ap_number || ' is offline', 'severity_id', 1,
      'severity_name', 'Critical', 'acknowledged', false,
      'source', jsonb_build_object('source_id', ap_number::text, 'source_name', 'ap-' || ap_number)`,
  ],
};

/** Every type, in shares that add up to one: most of what a busy network sends says where clients are. */
export const SEEDED_TYPES: readonly SeededType[] = CLOUD_TYPES.map((messageType) => {
  const [share, columns, values, payload] = TYPES[messageType];
  const statement = `
    insert into ${tableOf(messageType)} (occurred_at, received_at, owner_id, event_id, delivery_id, source, message_type,
      origin, ${columns}, payload)
    select t, t + interval '1 second', 1234567, gen_random_uuid(), gen_random_uuid(),
           ($4::text[])[1 + client_number % cardinality($4::text[])], '${messageType}', 'webhook', ${values},
           jsonb_build_object(${payload})
    from (${NAMED}) as named`;
  return { messageType, share, statement };
});
