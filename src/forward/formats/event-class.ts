import type { Facts } from './facts.ts';
import { text } from './readings.ts';
import type { RecordKind } from './record-kind.ts';

/** What CEF and LEEF call the kind of an event whose record has no code. */
export const EVENT_CLASSES: Readonly<Record<RecordKind, string>> = {
  login: '10001',
  logout: '10002',
  ppskCreated: '40001',
  ppskDeleted: '40003',
  configuration: 'AUDIT',
  authentication: 'RADIUS-AUTH',
  accountingStart: 'RADIUS-ACCT',
  accountingInterim: 'RADIUS-ACCT',
  accountingStop: 'RADIUS-ACCT',
  credential: 'CREDENTIAL',
  email: 'EMAIL',
  sms: 'SMS',
  gdpr: 'GDPR',
  location: 'LOCATION',
};

/** The audit record's code, else the name of the kind. */
export const eventClass = ({ kind, told }: Facts): string => text(told['code'] ?? EVENT_CLASSES[kind]);
