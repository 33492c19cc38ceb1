import { expect, it } from 'vitest';
import { sentenceOfEvent, titleOfEvent } from '../../src/events/event-words.ts';
import { FAMILY_OF, type MessageType } from '../../src/events/domain.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';

const event = (messageType: MessageType, columns: StoredEvent['columns']): StoredEvent => ({
  id: '1',
  eventId: '5f3c1b8e-0000-4000-8000-000000000001',
  deliveryId: '5f3c1b8e-0000-4000-8000-000000000002',
  source: 'default',
  messageType,
  family: FAMILY_OF[messageType],
  occurredAt: '2026-01-20T08:00:00.000Z',
  receivedAt: '2026-01-20T08:00:00.000Z',
  ownerId: null,
  orgId: null,
  origin: 'webhook',
  columns,
  payload: {},
});

const ann = { username: 'ann' };
const client = { client_mac: 'aa:bb:cc:dd:ee:ff', ap_mac: '00:11:22:33:44:55' };

const lobby = {
  accessPoint: 'AP-Lobby',
  place: 'Building 2, Floor 1',
  person: null,
  role: null,
  organization: null,
};

it.each([
  [client, lobby, 'aa:bb:cc:dd:ee:ff was seen by AP-Lobby, Building 2, Floor 1'],
  [
    { ...client, ssid: 'Guests' },
    { ...lobby, place: null },
    'aa:bb:cc:dd:ee:ff was seen on Guests by AP-Lobby',
  ],
  [
    client,
    { ...lobby, accessPoint: null },
    'aa:bb:cc:dd:ee:ff was seen by access point 00:11:22:33:44:55 in Building 2, Floor 1',
  ],
])('%j with the names %j is told as "%s"', (columns, names, sentence) => {
  expect(sentenceOfEvent({ ...event('LOCATION_AP_CENTRIC', columns), names })).toBe(sentence);
});

it('tells where someone logged in to the network', () => {
  const columns = { ...ann, ...client, ssid: 'Guests', reply: 'Access-Accept' };
  expect(sentenceOfEvent({ ...event('AUTHENTICATION_LOG_ALL', columns), names: lobby })).toBe(
    'ann was accepted on Guests at AP-Lobby, Building 2, Floor 1',
  );
});

it.each<[MessageType, StoredEvent['columns'], title: string, sentence: string]>([
  ['AUDIT_LOG_ALL', { user_name: 'ann', code: '10001' }, 'Login', 'ann logged in'],
  [
    'AUDIT_LOG_ALL',
    { user_name: 'ann', code: '40001', description: 'visitors' },
    'Private key created',
    'ann created a private key: visitors',
  ],
  [
    'AUTHENTICATION_LOG_ALL',
    { ...ann, ssid: 'Guests', reply: 'Access-Reject', reject_reason: 'wrong key' },
    'Network login rejected',
    'ann was rejected on Guests: wrong key',
  ],
  [
    'AUTHENTICATION_LOG_ALL',
    { ...client, reply: 'Access-Accept' },
    'Network login accepted',
    'aa:bb:cc:dd:ee:ff was accepted',
  ],
  [
    'ACCOUNTING_LOG_ALL',
    { ...ann, ssid: 'Corp', acct_terminate_cause: 'User-Request' },
    'Session ended',
    'ann ended a session on Corp: User-Request',
  ],
  [
    'LOCATION_AP_CENTRIC',
    client,
    'Client seen',
    'aa:bb:cc:dd:ee:ff was seen by access point 00:11:22:33:44:55',
  ],
  ['LOCATION_CLIENT_CENTRIC', {}, 'Client seen', 'A client was seen'],
  ['GDPR_LOG_ALL', { ...ann, category: 'delete' }, 'Personal data deletion', 'Personal data deletion by ann'],
  ['CREDENTIAL_LOG_ALL', ann, 'Credential event', 'Credential event for ann'],
  ['EMAIL_LOG_ALL', { ...ann, status: 'SUCCESS' }, 'Email sent', 'Email sent for ann'],
  ['SMS_LOG_ALL', { ...ann, tel: '+49 1', status: 'FAILED' }, 'SMS not sent', 'SMS not sent to +49 1'],
  ['ALERT', { summary: 'AP down' }, 'Alert', 'AP down'],
  ['OTHER', {}, 'Other event', 'Other event'],
])('%s %j is "%s": %s', (type, columns, title, sentence) => {
  expect(titleOfEvent(event(type, columns))).toBe(title);
  expect(sentenceOfEvent(event(type, columns))).toBe(sentence);
});
