import type { MessageType } from '../../src/events/domain.ts';
import { auditRecord } from '../support/deliveries.ts';

/** A record of a message type, and what is to be read from it. */
export interface Sample {
  readonly messageType: MessageType;
  readonly record: object;
  readonly occurredAt: string;
  readonly columns: Readonly<Record<string, string>>;
}

const OCCURRED_AT = '2026-01-31T08:00:00.123Z';
const time = (text: string) => Date.parse(text);

const OWNER = { ownerId: 1_234_567, orgId: 0 };
const ENVELOPE = { ...OWNER, timeStamp: time(OCCURRED_AT) };

type Plain = Readonly<Record<string, string | number>>;

/** The columns of members that are read as they are: each has the name of its member in snake_case, and its text. */
const columnsOf = (plain: Plain) =>
  Object.fromEntries(
    Object.entries(plain).map(([member, value]) => [
      member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      String(value),
    ]),
  );

/** A record of members that are read as they are and of others, which are given with their columns. */
const sample = (
  messageType: MessageType,
  plain: Plain,
  others: { readonly record?: object; readonly columns?: Readonly<Record<string, string>> } = {},
): Sample => ({
  messageType,
  record: { ...ENVELOPE, ...plain, ...others.record },
  occurredAt: OCCURRED_AT,
  columns: { ...columnsOf(plain), ...others.columns },
});

const AUDIT = { userId: 2_345_678, code: 40_001, category: 3, deviceCount: 2, orgName: 'North' };

const SEEN_BY_AP = {
  ipv4: '10.1.2.3',
  ipv6: 'fe80::a1b:2cff:fe3d:4e5f',
  rssi: -67,
  manufacturer: 'Example Inc.',
  os: 'ExampleOS',
  lat: 37.4,
  lng: -121.9,
  unc: 5.25,
  x: 1.5,
  y: 0.25,
};

const SEEN = { ipv4: '10.1.2.3', lat: 51.5, lng: 0.125 };

const ACCESS = {
  username: 'jane',
  vhmId: 4711,
  calledStationId: 'AA-BB-CC-00-11-22:Guest WiFi',
  callingStationId: '0A-1B-2C-3D-4E-5F',
  ssid: 'Guest WiFi',
  identity: 'jane@example.com',
  nasPortType: 'Wireless-802.11',
  nasIdentifier: 'ap-lobby',
};

const ACCESS_RECORD = { id: 77, mgmtMacAddress: 'AABB.CC00.1120' };
const ACCESS_COLUMNS = {
  record_id: '77',
  client_mac: '0a1b2c3d4e5f',
  ap_mac: 'aabbcc001122',
  mgmt_mac_address: 'aabbcc001120',
};

const ACCOUNTING = {
  ...ACCESS,
  deviceSerialNumber: '02301234567890',
  acctSessionId: '5F00-AB',
  acctMultiId: 'm-1',
  groupName: 'staff',
  nasIpAddress: '10.0.0.2',
  nasPort: 0,
  acctSessionTime: 3540,
  acctAuthentic: 'RADIUS',
  connectInfo: '11ax',
  acctInputOctets: 4_294_967_296,
  acctOutputOctets: 1024,
  acctTerminateCause: 'User-Request',
  serviceType: 'Framed-User',
  framedIpAddress: '10.1.2.3',
  acctStartDelay: 0,
  acctStopDelay: 1,
  attributeNum: 25,
};

const ALERT = {
  summary: 'Access point ap-lobby is offline',
  severityId: 1,
  severityName: 'Critical',
  categoryId: 2,
  categoryName: 'Device',
  messageMetadataId: 1001,
  messageMetadataType: 'EVENT',
  siteId: 77,
  siteName: 'North',
  alertPolicyId: 8,
  alertPolicyName: 'Default',
  alertRuleId: 9,
  acknowledgedUsername: 'admin@example.com',
};

/** One realistic record of each message type: specification for audit, the public record for the others. */
export const SAMPLES: readonly Sample[] = [
  sample('AUDIT_LOG_ALL', AUDIT, {
    record: {
      ...auditRecord({ timeStamp: ENVELOPE.timeStamp, ...AUDIT }),
      hostNames: ['ap-1', 'ap "two"'],
      deviceIds: [11, 22],
      config: { ppsk: { name: 'guest' } },
    },
    columns: {
      description: 'User admin@example.com logged in',
      user_name: 'admin@example.com',
      vhm_name: 'VHM-EXAMPLE',
      host_names: '{"ap-1","ap \\"two\\""}',
      config: '{"ppsk":{"name":"guest"}}',
      device_ids: '{"11","22"}',
    },
  }),
  {
    messageType: 'LOCATION_AP_CENTRIC',
    record: {
      ...OWNER,
      apMac: 'aabbcc001122',
      observations: [
        {
          ...SEEN_BY_AP,
          clientMac: '0a1b2c3d4e5f',
          seenTime: '2015-10-09T07:00:00.000+0000',
          seenEpoch: time('2015-10-09T07:00:00.250Z'),
          ssid: null,
        },
      ],
    },
    occurredAt: '2015-10-09T07:00:00.250Z',
    columns: { ...columnsOf(SEEN_BY_AP), client_mac: '0a1b2c3d4e5f', ap_mac: 'aabbcc001122' },
  },
  {
    messageType: 'LOCATION_CLIENT_CENTRIC',
    record: {
      ...OWNER,
      ...SEEN,
      clientMac: '0A1B2C3D4E5F',
      seenTime: '2018-05-01T10:20:30.000+0000',
      deviceObservers: [{ apMac: 'AABBCC001122', rssi: -70, locationIdHierarchy: [101, 202, 303] }],
    },
    occurredAt: '2018-05-01T10:20:30.000Z',
    columns: {
      ...columnsOf(SEEN),
      client_mac: '0a1b2c3d4e5f',
      ap_mac: 'aabbcc001122',
      rssi: '-70',
      location_id_hierarchy: '{"101","202","303"}',
    },
  },
  sample(
    'GDPR_LOG_ALL',
    { status: 'DONE', category: 'DELETE', description: 'client data deleted' },
    {
      record: {
        logId: 5,
        start: '2026-01-31T07:00:00Z',
        end: time('2026-01-31T07:30:00Z'),
        mac: '0A:1B:2C:3D:4E:5F',
        admin: 'admin@example.com',
      },
      columns: {
        record_id: '5',
        start_time: '2026-01-31T07:00:00.000Z',
        end_time: '2026-01-31T07:30:00.000Z',
        client_mac: '0a1b2c3d4e5f',
        username: 'admin@example.com',
      },
    },
  ),
  {
    messageType: 'CREDENTIAL_LOG_ALL',
    record: { ...OWNER, id: 9, timestamp: ENVELOPE.timeStamp, username: 'jane', vhmId: 'VHM-1' },
    occurredAt: OCCURRED_AT,
    columns: { record_id: '9', username: 'jane', vhm_id: 'VHM-1' },
  },
  sample('ACCOUNTING_LOG_ALL', ACCOUNTING, {
    record: {
      ...ACCESS_RECORD,
      acctStartTime: time('2026-01-31T07:00:00Z'),
      acctStopTime: time('2026-01-31T07:59:00Z'),
      eventTime: time('2026-01-31T07:59:01Z'),
    },
    columns: {
      ...ACCESS_COLUMNS,
      acct_start_time: '2026-01-31T07:00:00.000Z',
      acct_stop_time: '2026-01-31T07:59:00.000Z',
      event_time: '2026-01-31T07:59:01.000Z',
    },
  }),
  sample(
    'AUTHENTICATION_LOG_ALL',
    { ...ACCESS, authType: 'EAP-TLS', reply: 'Access-Reject', rejectReason: 'certificate expired' },
    {
      record: { ...ACCESS_RECORD, sn: '02301234567890', authDate: time('2026-01-31T07:58:00Z') },
      columns: {
        ...ACCESS_COLUMNS,
        device_serial_number: '02301234567890',
        auth_date: '2026-01-31T07:58:00.000Z',
      },
    },
  ),
  sample(
    'EMAIL_LOG_ALL',
    {
      username: 'guest@example.com',
      userId: 42,
      customerId: 'C-1',
      approverEmail: 'boss@example.com',
      status: 'SENT',
    },
    { record: { id: 3 }, columns: { record_id: '3' } },
  ),
  sample(
    'SMS_LOG_ALL',
    {
      userId: 42,
      customerId: 'C-1',
      tel: '+41 79 000 00 00',
      profileName: 'guests',
      status: 'SEND_OUT',
      messageId: 'M-1',
      statusFromProvider: 'queued',
      providerType: 'example',
    },
    { record: { id: 4 }, columns: { record_id: '4' } },
  ),
  {
    messageType: 'ALERT',
    record: {
      ...OWNER,
      ...ALERT,
      id: 'a-5',
      timestamp: OCCURRED_AT,
      source: { sourceTypeId: 'D', sourceType: 'DEVICE', sourceId: '11', sourceName: 'ap-lobby' },
      acknowledged: false,
      tags: [{ name: 'reason', value: 'power' }],
    },
    occurredAt: OCCURRED_AT,
    columns: {
      ...columnsOf(ALERT),
      record_id: 'a-5',
      alert_source_id: '11',
      alert_source_name: 'ap-lobby',
      alert_source_type: 'DEVICE',
      alert_source_type_id: 'D',
      acknowledged: 'false',
      tags: '[{"name":"reason","value":"power"}]',
    },
  },
  sample('OTHER', {}, { record: { anything: [1] } }),
];
