import * as fc from 'fast-check';
import { type MessageType, FAMILY_OF, MESSAGE_TYPES, OWN_TYPES } from '../../../src/events/domain.ts';
import { isJsonObject, parseExactJson } from '../../../src/events/exact-json.ts';
import type { RecordKind } from '../../../src/events/record-kind.ts';
import { recordOf } from '../../../src/alerts/alert-record.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { deliveryToEvents } from '../../support/convert.ts';
import { FIELDS, type FieldKind } from '../../../src/events/message-types.ts';
import type { EventRow } from '../../../src/store/events/insert-events.ts';
import { SAMPLES } from '../../handlers/samples.ts';
import { queuedDelivery } from '../../support/deliveries.ts';

/** What differs between two deliveries of the same records. */
const ONE_DELIVERY = {
  deliveryId: '01890a5d-ac96-774b-bcce-b302099a8057',
  receivedAt: Date.parse('2026-07-01T08:00:00.000Z'),
};

/** The event that a record becomes, as the forwarder reads it: the same at every call. */
export function storedEvent(messageType: MessageType, record: object): StoredEvent {
  const [row] = deliveryToEvents(queuedDelivery(messageType, [record], ONE_DELIVERY)).events;
  if (row === undefined) throw new Error(`a record of ${messageType} gave no event`);
  const payload = parseExactJson(row.payload);
  if (!isJsonObject(payload)) throw new Error(`the payload of ${messageType} is no object`);
  const { values: _, ...envelope } = row;
  return {
    ...envelope,
    id: '1',
    family: FAMILY_OF[messageType],
    columns: columnsOf(row),
    payload,
  };
}

const columnsOf = ({ messageType, values }: EventRow) =>
  Object.fromEntries(
    FIELDS[messageType].map(({ column, kind }, index) => [column, printed(kind, values[index] ?? null)]),
  );

/** A value as Postgres prints it. */
function printed(kind: FieldKind, value: string | null): string | string[] | null {
  if (value === null) return null;
  if (kind === 'macaddr') return value.replaceAll(/(..)(?!$)/g, '$1:');
  if (kind === 'timestamptz') return value.replace('T', ' ').replace('Z', '+00');
  if (kind !== 'key[]' && kind !== 'bigint[]') return value;
  const elements = value.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"/g);
  return [...elements].map(([, element = '']) => element.replaceAll(/\\(.)/g, '$1'));
}

/** The record of `test/handlers/samples.ts`, with other members. */
function sampleRecord(messageType: MessageType, overrides: object = {}): object {
  const sample = SAMPLES.find((candidate) => candidate.messageType === messageType);
  return { ...sample?.record, ...overrides };
}

export const sampleEvent = (messageType: MessageType, overrides: object = {}): StoredEvent =>
  storedEvent(messageType, sampleRecord(messageType, overrides));

/** An alert that a rule raised, as its event is stored. */
function ruleAlertEvent(): StoredEvent {
  const record = recordOf({
    id: '1',
    raisedAt: '2026-01-31T08:00:00.000Z',
    rule: 'logins-failed',
    title: 'Many failed logins',
    severity: 'high',
    source: 'default',
    group: { user_name: 'jane@example.com', client_mac: 'aa:bb:cc:dd:ee:ff' },
    count: 2,
    firstAt: '2026-01-31T07:50:00.000Z',
    lastAt: '2026-01-31T07:59:00.000Z',
    causes: ['1', '2'].map((digit) => ({
      eventId: `0b8e4f8e-6d0a-8a3f-9c4e-2f6d1f0a7b1${digit}`,
      occurredAt: '2026-01-31T07:59:00.000Z',
    })),
  });
  return {
    ...storedEvent('OTHER', { ownerId: 1, ...record }),
    origin: 'xiq-sink',
    columns: { sent_type: OWN_TYPES.alert },
  };
}

const audit = (overrides: object) => sampleEvent('AUDIT_LOG_ALL', overrides);
const accounting = (overrides: object) =>
  sampleEvent('ACCOUNTING_LOG_ALL', { acctStopTime: null, acctTerminateCause: null, ...overrides });

/** An event of each record kind. */
export const EVENT_OF_KIND: Readonly<Record<RecordKind, StoredEvent>> = {
  login: audit({ code: 10_001, category: 1 }),
  logout: audit({ code: 10_002, category: 1 }),
  ppskCreated: audit({ code: 40_001, description: 'Cloud PPSK user guest-17 was created' }),
  ppskDeleted: audit({ code: 40_003, description: 'PPSK user "guest 17" was deleted' }),
  configuration: audit({ code: 50_000, hostNames: ['ap-1'], deviceIds: [11] }),
  audit: audit({ code: 50_001, hostNames: [], deviceIds: [], config: null, deviceCount: null }),
  authentication: sampleEvent('AUTHENTICATION_LOG_ALL', { reply: 'Access-Accept', rejectReason: null }),
  accountingStart: accounting({ acctSessionTime: 0, acctInputOctets: 0, acctOutputOctets: 0 }),
  accountingInterim: accounting({}),
  accountingStop: sampleEvent('ACCOUNTING_LOG_ALL'),
  credential: sampleEvent('CREDENTIAL_LOG_ALL'),
  email: sampleEvent('EMAIL_LOG_ALL'),
  sms: sampleEvent('SMS_LOG_ALL'),
  gdprDeletion: sampleEvent('GDPR_LOG_ALL'),
  gdprDownload: sampleEvent('GDPR_LOG_ALL', { category: 'Data Download', status: 'IN_PROGRESS' }),
  gdpr: sampleEvent('GDPR_LOG_ALL', { category: 'CLIENT_DATA' }),
  location: sampleEvent('LOCATION_AP_CENTRIC'),
  alert: sampleEvent('ALERT'),
  ruleAlert: ruleAlertEvent(),
  other: sampleEvent('OTHER'),
};

/** Records that tell nothing but what they must: the least that a format has to cope with. */
const BARE_EVENTS: readonly StoredEvent[] = MESSAGE_TYPES.map((messageType) =>
  storedEvent(messageType, { ownerId: 1 }),
);

/** All of the above, all samples, and the cases beside the common one. */
export const EVENTS: readonly StoredEvent[] = [
  ...Object.values(EVENT_OF_KIND),
  ...MESSAGE_TYPES.map((messageType) => sampleEvent(messageType)),
  ...BARE_EVENTS,
  storedEvent('LOCATION_AP_CENTRIC', { ownerId: 1, apMac: 'aabbcc001122', observations: [] }),
  sampleEvent('AUTHENTICATION_LOG_ALL', { username: null, callingStationId: null, reply: null }),
  sampleEvent('EMAIL_LOG_ALL', { username: 'jane', approverEmail: null, status: 'FAIL' }),
  sampleEvent('SMS_LOG_ALL', { status: 'SUCCESS' }),
  sampleEvent('ACCOUNTING_LOG_ALL', { framedIpAddress: 'fe80::1', nasIpAddress: '2001:db8::2' }),
  audit({ userId: '9223372036854775807', code: 12, category: 7, userName: null, deviceCount: null }),
];

const anyText = fc.oneof(
  fc.string(),
  fc.ipV4(),
  fc.ipV6(),
  fc.emailAddress(),
  fc.integer().map(String),
  fc.constantFrom('[redacted]', 'infinity', '9e99', '@', 'aa:bb:cc:dd:ee:ff', '2026-01-31 08:00:00+00'),
);

/** Any of the events with any text in every column. */
export const eventsOfAnyText = (text = anyText): fc.Arbitrary<StoredEvent> =>
  fc
    .tuple(fc.constantFrom(...EVENTS), fc.array(text, { minLength: 40, maxLength: 40 }))
    .map(([event, texts]) => ({ ...event, columns: columnsOfTexts(event.messageType, texts) }));

const columnsOfTexts = (messageType: MessageType, texts: readonly string[]) =>
  Object.fromEntries(
    FIELDS[messageType].map(({ column, kind }, index) => {
      const value = texts[index] ?? '';
      return [column, kind.endsWith('[]') ? [value, value] : value];
    }),
  );
