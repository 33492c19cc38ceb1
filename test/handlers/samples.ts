import type { MessageType } from '../../src/events/domain.ts';
import { auditRecord } from '../support/deliveries.ts';

/** A record of a message type. */
interface Sample {
  readonly messageType: MessageType;
  readonly record: object;
  readonly occurredAt: string;
}

const OCCURRED_AT = '2026-01-31T08:00:00.123Z';
const time = (text: string) => Date.parse(text);

const OWNER = { ownerId: 1_234_567, orgId: 0 };
const ENVELOPE = { ...OWNER, timeStamp: time(OCCURRED_AT) };

const sample = (messageType: MessageType, record: object): Sample => ({
  messageType,
  record: { ...ENVELOPE, ...record },
  occurredAt: OCCURRED_AT,
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
  sample('AUDIT_LOG_ALL', {
    ...AUDIT,
    ...auditRecord({ timeStamp: ENVELOPE.timeStamp, ...AUDIT }),
    hostNames: ['ap-1', 'ap "two"'],
    deviceIds: [11, 22],
    config: { ppsk: { name: 'guest' } },
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
  },
  sample('GDPR_LOG_ALL', {
    status: 'DONE',
    category: 'DELETE',
    description: 'client data deleted',
    logId: 5,
    start: '2026-01-31T07:00:00Z',
    end: time('2026-01-31T07:30:00Z'),
    mac: '0A:1B:2C:3D:4E:5F',
    admin: 'admin@example.com',
  }),
  {
    messageType: 'CREDENTIAL_LOG_ALL',
    record: { ...OWNER, id: 9, timestamp: ENVELOPE.timeStamp, username: 'jane', vhmId: 'VHM-1' },
    occurredAt: OCCURRED_AT,
  },
  sample('ACCOUNTING_LOG_ALL', {
    ...ACCOUNTING,
    ...ACCESS_RECORD,
    acctStartTime: time('2026-01-31T07:00:00Z'),
    acctStopTime: time('2026-01-31T07:59:00Z'),
    eventTime: time('2026-01-31T07:59:01Z'),
  }),
  sample('AUTHENTICATION_LOG_ALL', {
    ...ACCESS,
    authType: 'EAP-TLS',
    reply: 'Access-Reject',
    rejectReason: 'certificate expired',
    ...ACCESS_RECORD,
    sn: '02301234567890',
    authDate: time('2026-01-31T07:58:00Z'),
  }),
  sample('EMAIL_LOG_ALL', {
    username: 'guest@example.com',
    userId: 42,
    customerId: 'C-1',
    approverEmail: 'boss@example.com',
    status: 'SENT',
    id: 3,
  }),
  sample('SMS_LOG_ALL', {
    userId: 42,
    customerId: 'C-1',
    tel: '+41 79 000 00 00',
    profileName: 'guests',
    status: 'SEND_OUT',
    messageId: 'M-1',
    statusFromProvider: 'queued',
    providerType: 'example',
    id: 4,
  }),
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
  },
  sample('OTHER', { anything: [1] }),
];
