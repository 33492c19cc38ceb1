import type { Format } from '../sender.ts';
import { compilePlan, type Mapping } from './document.ts';
import { factsOf, PRODUCT, VENDOR } from './facts.ts';
import { always, integer, ip, json, list, mac, milliseconds, seconds, text } from './readings.ts';
import type { Reading } from './readings.ts';
import { eachKind, type RecordKind } from './record-kind.ts';

/** The event class of a kind of record in the Open Cybersecurity Schema Framework 1.5.0. */
interface OcsfRow {
  /** The thousands are the category; the type is class * 100 + activity. */
  readonly classUid: number;
  readonly activityId: number;
  /** 0 unknown, 1 informational, 2 low; a failure is always low, and an alert can have another one. */
  readonly severityId: 0 | 1 | 2;
  /** Members that the class requires and the record may lack, and those that are the same in all records of the kind. */
  readonly constants: Readonly<Record<string, unknown>>;
  readonly mappings: readonly Mapping[];
}

const UNKNOWN = 'Unknown';
const OTHER = 99;

/** These classes have `actor` from this profile; the others have their own. */
const HOST_PROFILE = { 'metadata.profiles': ['host'] };

const STATUS_IDS: Readonly<Record<string, number>> = { unknown: 0, success: 1, failure: 2 };

const statusId: Reading = (fact) => STATUS_IDS[text(fact)];
/** Informational, medium and critical, of the severities in CEF that alerts have. */
const ALERT_SEVERITY_IDS: Readonly<Record<string, number>> = { 3: 1, 6: 3, 9: 5 };

const alertSeverityId: Reading = (fact) => ALERT_SEVERITY_IDS[text(fact)];
const lowIfFailure: Reading = (fact) => (fact === 'failure' ? 2 : undefined);

/** The mappings of every event. */
export const OCSF_COMMON: readonly Mapping[] = [
  ['occurred_at', 'time', milliseconds],
  ['description', 'message'],
  ['event_id', 'metadata.uid'],
  ['code', 'metadata.event_code'],
  ['org_id', 'metadata.tenant_uid'],
  ['message_type', 'metadata.log_name'],
  ['received_at', 'metadata.logged_time', milliseconds],
  ['user_id', 'actor.user.uid'],
  ['user_name', 'actor.user.name'],
  ['user_email', 'actor.user.email_addr'],
  ['status', 'status_detail'],
  ['reject_reason', 'status_detail'],
  ['start_time', 'start_time', milliseconds],
  ['end_time', 'end_time', milliseconds],
  ['payload', 'raw_data'],
  ['outcome', 'status_id', statusId],
  ['outcome', 'severity_id', lowIfFailure],
];

/** A MAC address alone does not make a valid endpoint, so it is also the identifier. */
const CLIENT: readonly Mapping[] = [
  ['client_ip', 'src_endpoint.ip', ip],
  ['client_mac', 'src_endpoint.mac', mac],
  ['client_mac', 'src_endpoint.uid', mac],
  ['calling_station_id', 'src_endpoint.name'],
];

const ACCESS_POINT: readonly Mapping[] = [
  ['nas_ip_address', 'dst_endpoint.ip', ip],
  ['ap_mac', 'dst_endpoint.mac', mac],
  ['ap_mac', 'dst_endpoint.uid', mac],
  ['device_serial_number', 'dst_endpoint.uid'],
  ['nas_identifier', 'dst_endpoint.name'],
];

const USER: readonly Mapping[] = [
  ['user_id', 'user.uid'],
  ['user_name', 'user.name'],
  ['user_email', 'user.email_addr'],
  ['org_name', 'user.org.name'],
];

/** Input octets are those that the client sent (RFC 2866, 5.3), and the client is the source. */
const SESSION: readonly Mapping[] = [
  ['acct_input_octets', 'traffic.bytes_out', integer],
  ['acct_output_octets', 'traffic.bytes_in', integer],
  ['acct_session_id', 'connection_info.uid'],
  ['acct_start_time', 'start_time', milliseconds],
  ['acct_stop_time', 'end_time', milliseconds],
  ['acct_session_time', 'duration', seconds(1000)],
];

/** The record does not contain the type of the device: type 0, unknown. */
const CHANGED_DEVICE: readonly Mapping[] = [
  ['config', 'entity.data', json],
  ['host_name', 'entity.device.hostname'],
  ['host_name', 'entity.device.type_id', always(0)],
  ['device_id', 'entity.device.uid'],
  ['device_id', 'entity.device.type_id', always(0)],
];

/** The device is the located client, or the access point if the record has no client. */
const LOCATED: readonly Mapping[] = [
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

const LOGIN = {
  classUid: 3002,
  severityId: 1,
  constants: { 'user.name': UNKNOWN, 'service.name': PRODUCT },
  mappings: USER,
} as const;

const PPSK = {
  classUid: 3001,
  severityId: 2,
  constants: { 'user.name': UNKNOWN, 'user.type_id': OTHER, 'user.type': 'PPSK' },
  mappings: [
    ['target_user', 'user.name'],
    ['org_name', 'user.org.name'],
  ],
} as const;

const ACCOUNTING = {
  classUid: 4001,
  severityId: 1,
  constants: { 'src_endpoint.name': UNKNOWN, 'connection_info.direction_id': 0, ...HOST_PROFILE },
  mappings: [...CLIENT, ...ACCESS_POINT, ...SESSION],
} as const;

const entity = (type: string, name: string) => ({
  'entity.type_id': OTHER,
  'entity.type': type,
  'entity.name': name,
});

export const OCSF_ROWS: Readonly<Record<RecordKind, OcsfRow>> = {
  login: { ...LOGIN, activityId: 1 },
  logout: { ...LOGIN, activityId: 2 },
  ppskCreated: { ...PPSK, activityId: 1 },
  ppskDeleted: { ...PPSK, activityId: 6 },
  configuration: {
    classUid: 3004,
    activityId: 3,
    severityId: 2,
    constants: entity('Configuration', 'Configuration'),
    mappings: CHANGED_DEVICE,
  },
  authentication: {
    classUid: 3002,
    activityId: 1,
    severityId: 1,
    constants: {
      'user.name': UNKNOWN,
      'service.name': 'RADIUS',
      auth_protocol_id: 10,
      auth_protocol: 'RADIUS',
      logon_type_id: 3,
      logon_type: 'Network',
    },
    mappings: [...USER, ...CLIENT, ...ACCESS_POINT],
  },
  accountingStart: { ...ACCOUNTING, activityId: 1 },
  accountingInterim: { ...ACCOUNTING, activityId: 6 },
  accountingStop: { ...ACCOUNTING, activityId: 2 },
  credential: {
    classUid: 3004,
    activityId: 1,
    severityId: 1,
    constants: entity('Credential', UNKNOWN),
    mappings: [['user_name', 'entity.name']],
  },
  email: {
    classUid: 4009,
    activityId: 1,
    severityId: 1,
    constants: { direction_id: 2, 'email.to': [], ...HOST_PROFILE },
    mappings: [['recipient', 'email.to', list]],
  },
  sms: {
    classUid: 0,
    activityId: OTHER,
    severityId: 1,
    constants: { activity_name: 'SMS', ...HOST_PROFILE },
    mappings: [],
  },
  gdpr: {
    classUid: 3004,
    activityId: 4,
    severityId: 2,
    constants: entity('Personal Data', UNKNOWN),
    mappings: [['client_mac', 'entity.name', mac]],
  },
  location: {
    classUid: 5001,
    activityId: 1,
    severityId: 1,
    constants: { 'device.name': UNKNOWN, 'device.type_id': 0 },
    mappings: LOCATED,
  },
  alert: {
    classUid: 0,
    activityId: OTHER,
    severityId: 0,
    constants: { activity_name: 'Alert', ...HOST_PROFILE },
    mappings: [['severity', 'severity_id', alertSeverityId]],
  },
};

const classConstants = ({ classUid, activityId, severityId }: OcsfRow) => ({
  category_uid: Math.floor(classUid / 1000),
  class_uid: classUid,
  activity_id: activityId,
  type_uid: classUid * 100 + activityId,
  severity_id: severityId,
});

const planOf = eachKind((kind) => {
  const row = OCSF_ROWS[kind];
  return compilePlan({
    constants: {
      ...classConstants(row),
      'metadata.version': '1.5.0',
      'metadata.product.vendor_name': VENDOR,
      'metadata.product.name': PRODUCT,
      ...row.constants,
    },
    mappings: [...OCSF_COMMON, ...row.mappings],
    rest: 'unmapped',
  });
});

/**
 * OCSF 1.5.0. Members that a class requires are present even if the record lacks them ("Unknown", type 0). Facts without
 * an attribute in the class are in `unmapped`.
 */
export const formatOcsf: Format = (event) => {
  const facts = factsOf(event);
  return JSON.stringify(planOf(facts.kind)(facts));
};
