import { PRODUCT } from './facts.ts';
import { OTHER, UNKNOWN, type OcsfRow } from './ocsf-classes.ts';
import {
  ACCESS_POINT,
  ALERT_SEVERITY,
  AUTH_PROTOCOL,
  CHANGED_DEVICE,
  CLIENT,
  LOCATED,
  RULE_ALERT,
  SESSION,
  SESSION_USER,
  USER,
} from './ocsf-mappings.ts';
import { list, mac } from './readings.ts';
import type { RecordKind } from '../../events/record-kind.ts';

/** This class has `actor` from the profile `host`; the others have their own. All have `cloud` from its profile. */
const HOST_PROFILE = { 'metadata.profiles': ['cloud', 'host'] };

const UNKNOWN_USER = { unless: ['user.name', 'user.uid'], member: 'user.name' };

const LOGIN = {
  classUid: 3002,
  severityId: 1,
  constants: { 'service.name': PRODUCT },
  mappings: USER,
  fallback: UNKNOWN_USER,
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
  constants: {
    'connection_info.direction_id': 0,
    'connection_info.direction': UNKNOWN,
    ...HOST_PROFILE,
  },
  mappings: [...CLIENT, ...ACCESS_POINT, ...SESSION, ...SESSION_USER],
  fallback: { unless: ['src_endpoint', 'dst_endpoint'], member: 'src_endpoint.name' },
} as const;

const entity = (type: string, name: string) => ({
  'entity.type_id': OTHER,
  'entity.type': type,
  'entity.name': name,
});

const unknownEntity = { 'entity.type_id': 0, 'entity.type': UNKNOWN, 'entity.name': UNKNOWN };

const AUDIT = { classUid: 3004, mappings: CHANGED_DEVICE } as const;

const GDPR = {
  classUid: 3004,
  severityId: 2,
  constants: entity('Personal Data', UNKNOWN),
  mappings: [['client_mac', 'entity.name', mac]],
} as const;

const BASE = { classUid: 0, activityId: OTHER, constants: {}, mappings: [] } as const;

export const OCSF_ROWS: Readonly<Record<RecordKind, OcsfRow>> = {
  login: { ...LOGIN, activityId: 1, activity: 'Logon' },
  logout: { ...LOGIN, activityId: 2, activity: 'Logoff' },
  ppskCreated: { ...PPSK, activityId: 1, activity: 'Create' },
  ppskDeleted: { ...PPSK, activityId: 6, activity: 'Delete' },
  configuration: {
    ...AUDIT,
    activityId: 3,
    activity: 'Update',
    severityId: 2,
    constants: entity('Configuration', 'Configuration'),
  },
  audit: {
    ...AUDIT,
    activityId: OTHER,
    activity: 'Audit event',
    severityId: 1,
    constants: unknownEntity,
  },
  authentication: {
    classUid: 3002,
    activityId: 1,
    activity: 'Logon',
    severityId: 1,
    constants: { 'user.name': UNKNOWN, logon_type_id: 3, logon_type: 'Network' },
    mappings: [...USER, ...CLIENT, ...ACCESS_POINT, ...AUTH_PROTOCOL],
    fallback: { unless: ['service', 'dst_endpoint'], member: 'service.name' },
  },
  accountingStart: { ...ACCOUNTING, activityId: 1, activity: 'Open' },
  accountingInterim: { ...ACCOUNTING, activityId: 6, activity: 'Traffic' },
  accountingStop: { ...ACCOUNTING, activityId: 2, activity: 'Close' },
  credential: {
    classUid: 3004,
    activityId: OTHER,
    activity: 'Credential event',
    severityId: 1,
    constants: entity('Credential', UNKNOWN),
    mappings: [['target_user', 'entity.name']],
  },
  email: {
    classUid: 4009,
    activityId: 1,
    activity: 'Send',
    severityId: 1,
    constants: { direction_id: 2, direction: 'Outbound', 'email.to': [] },
    mappings: [['recipient', 'email.to', list]],
  },
  sms: { ...BASE, activity: 'SMS', severityId: 1 },
  gdprDeletion: { ...GDPR, activityId: 4, activity: 'Delete' },
  gdprDownload: { ...GDPR, activityId: 2, activity: 'Read' },
  gdpr: { ...GDPR, activityId: OTHER, activity: 'GDPR event' },
  location: {
    classUid: 5001,
    activityId: 1,
    activity: 'Log',
    severityId: 1,
    constants: { 'device.name': UNKNOWN, 'device.type_id': 0 },
    mappings: LOCATED,
  },
  alert: {
    ...BASE,
    activity: 'Alert',
    severityId: 0,
    mappings: ALERT_SEVERITY,
  },
  ruleAlert: {
    classUid: 2004,
    activityId: 1,
    activity: 'Create',
    severityId: 0,
    constants: { is_alert: true, 'finding_info.analytic.type_id': 1, 'finding_info.analytic.type': 'Rule' },
    mappings: RULE_ALERT,
  },
  other: { ...BASE, activity: 'Other', severityId: 0 },
};
