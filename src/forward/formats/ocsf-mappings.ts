import type { Mapping } from './document.ts';
import type { Fact } from './readings.ts';
import { OTHER, SEVERITIES } from './ocsf-classes.ts';
import {
  always,
  integer,
  ip,
  json,
  list,
  mac,
  milliseconds,
  seconds,
  text,
  type Reading,
} from './readings.ts';

const oneOf =
  <T>(values: Readonly<Record<string, T>>): Reading<T> =>
  (fact) =>
    values[text(fact)];

const status = oneOf({ unknown: 'Unknown', success: 'Success', failure: 'Failure' });
const statusId = oneOf({ unknown: 0, success: 1, failure: 2 });

export const OCSF_COMMON: readonly Mapping[] = [
  ['occurred_at', 'time', milliseconds],
  ['description', 'message'],
  ['event_id', 'metadata.uid'],
  ['code', 'metadata.event_code'],
  ['org_id', 'metadata.tenant_uid'],
  ['message_type', 'metadata.log_name'],
  ['received_at', 'metadata.logged_time', milliseconds],
  ['owner_id', 'cloud.account.uid'],
  ['actor_id', 'actor.user.uid'],
  ['actor_name', 'actor.user.name'],
  ['actor_email', 'actor.user.email_addr'],
  ['status', 'status_detail'],
  ['reject_reason', 'status_detail'],
  ['start_time', 'start_time', milliseconds],
  ['end_time', 'end_time', milliseconds],
  ['payload', 'raw_data'],
  ['outcome', 'status_id', statusId],
  ['outcome', 'status', status],
  ['outcome', 'severity_id', oneOf({ failure: 2 })],
  ['outcome', 'severity', oneOf({ failure: 'Low' })],
];

/** A MAC address alone does not make a valid endpoint, so it is also the identifier. */
export const CLIENT: readonly Mapping[] = [
  ['client_ip', 'src_endpoint.ip', ip],
  ['client_mac', 'src_endpoint.mac', mac],
  ['client_mac', 'src_endpoint.uid', mac],
  ['calling_station_id', 'src_endpoint.name'],
];

export const ACCESS_POINT: readonly Mapping[] = [
  ['nas_ip_address', 'dst_endpoint.ip', ip],
  ['ap_mac', 'dst_endpoint.mac', mac],
  ['ap_mac', 'dst_endpoint.uid', mac],
  ['device_serial_number', 'dst_endpoint.uid'],
  ['nas_identifier', 'dst_endpoint.name'],
];

export const USER: readonly Mapping[] = [
  ['actor_id', 'user.uid'],
  ['actor_name', 'user.name'],
  ['user_name', 'user.name'],
  ['user_email', 'user.email_addr'],
  ['org_name', 'user.org.name'],
];

/** Protocols with an id of their own; all others have 99 and are named as in the record. */
const AUTH_PROTOCOL_IDS: ReadonlyMap<string, number> = new Map([
  ['PAP', 7],
  ['CHAP', 8],
  ['EAP', 9],
  ['RADIUS', 10],
]);

/** `EAP-TLS` and `PEAP` are methods of EAP. */
function authProtocol(fact: Fact): readonly [id: number, caption: string] {
  const name = text(fact);
  const caption = /^(?:EAP|PEAP)\b/i.test(name) ? 'EAP' : name.toUpperCase();
  const id = AUTH_PROTOCOL_IDS.get(caption);
  return id === undefined ? [OTHER, name] : [id, caption];
}

export const AUTH_PROTOCOL: readonly Mapping[] = [
  ['auth_protocol', 'auth_protocol_id', (fact) => authProtocol(fact)[0]],
  ['auth_protocol', 'auth_protocol', (fact) => authProtocol(fact)[1]],
];

export const SESSION_USER: readonly Mapping[] = [
  ['user_name', 'actor.user.name'],
  ['user_email', 'actor.user.email_addr'],
];

/** Input octets are those that the client sent (RFC 2866, 5.3), and the client is the source. */
export const SESSION: readonly Mapping[] = [
  ['acct_input_octets', 'traffic.bytes_out', integer],
  ['acct_output_octets', 'traffic.bytes_in', integer],
  ['acct_session_id', 'connection_info.uid'],
  ['acct_start_time', 'start_time', milliseconds],
  ['acct_stop_time', 'end_time', milliseconds],
  ['acct_session_time', 'duration', seconds(1000)],
];

/** The record does not contain the type of the device: type 0, unknown. */
export const CHANGED_DEVICE: readonly Mapping[] = [
  ['config', 'entity.data', json],
  ['host_name', 'entity.device.hostname'],
  ['host_name', 'entity.device.type_id', always(0)],
  ['device_id', 'entity.device.uid'],
  ['device_id', 'entity.device.type_id', always(0)],
];

/** The device is the located client, or the access point if the record has no client. */
export const LOCATED: readonly Mapping[] = [
  ['client_ip', 'device.ip', ip],
  ['client_mac', 'device.mac', mac],
  ['client_mac', 'device.uid', mac],
  ['client_mac', 'device.name', mac],
  ['manufacturer', 'device.vendor_name'],
  ['os', 'device.os.name'],
  ['os', 'device.os.type_id', always(0)],
  ['lone_ap', 'device.mac', mac],
  ['lone_ap', 'device.uid', mac],
  ['lone_ap', 'device.name', mac],
  ['lone_ap', 'device.type_id', always(OTHER)],
  ['lone_ap', 'device.type', always('Access Point')],
];

/** Informational, medium and critical, of the severities in CEF that alerts have. */
const alertSeverityId = oneOf({ 3: 1, 6: 3, 9: 5 });
const alertSeverity: Reading = (fact) => SEVERITIES[alertSeverityId(fact) ?? 0];

/** Low to critical, of the severities in CEF that alerts of rules have. */
const ruleSeverityId = oneOf({ 3: 2, 5: 3, 8: 4, 10: 5 });
const ruleSeverity: Reading = (fact) => SEVERITIES[ruleSeverityId(fact) ?? 0];
const relatedEvents: Reading = (fact) => list(fact).map((uid) => ({ uid }));

/** An alert of a rule: its event is the finding. */
export const RULE_ALERT: readonly Mapping[] = [
  ['event_id', 'finding_info.uid'],
  ['rule_title', 'finding_info.title'],
  ['description', 'finding_info.desc'],
  ['rule_name', 'finding_info.analytic.name'],
  ['cause_ids', 'finding_info.related_events', relatedEvents],
  ['start_time', 'finding_info.first_seen_time', milliseconds],
  ['end_time', 'finding_info.last_seen_time', milliseconds],
  ['alert_count', 'finding_info.related_events_count', integer],
  ['severity', 'severity_id', ruleSeverityId],
  ['severity', 'severity', ruleSeverity],
  ['rule_name', 'status_id', always(1)],
  ['rule_name', 'status', always('New')],
];

export const ALERT_SEVERITY: readonly Mapping[] = [
  ['severity', 'severity_id', alertSeverityId],
  ['severity', 'severity', alertSeverity],
];
