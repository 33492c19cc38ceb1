import type { MessageType } from '../../domain.ts';
import type { StoredEvent } from '../../store/stored-event.ts';

/** What happened, according to the record: the row in every format's table. */
export const RECORD_KINDS = [
  'login',
  'logout',
  'ppskCreated',
  'ppskDeleted',
  'configuration',
  'authentication',
  'accountingStart',
  'accountingInterim',
  'accountingStop',
  'credential',
  'email',
  'sms',
  'gdpr',
  'location',
  'alert',
] as const;

export type RecordKind = (typeof RECORD_KINDS)[number];

export type Outcome = 'success' | 'failure' | 'unknown';

/** What all formats contain about a kind. */
export interface KindText {
  readonly name: string;
  readonly action: string;
  /** 0 to 10, as in CEF; `failed` if a failure is more severe. */
  readonly severity: number;
  readonly failed?: number;
}

export const KINDS: Readonly<Record<RecordKind, KindText>> = {
  login: { name: 'User logged in', action: 'user-logged-in', severity: 3 },
  logout: { name: 'User logged out', action: 'user-logged-out', severity: 2 },
  ppskCreated: { name: 'PPSK user created', action: 'ppsk-user-created', severity: 4 },
  ppskDeleted: { name: 'PPSK user deleted', action: 'ppsk-user-deleted', severity: 5 },
  configuration: { name: 'Configuration changed', action: 'configuration-changed', severity: 5 },
  authentication: {
    name: 'Network authentication',
    action: 'network-authentication',
    severity: 3,
    failed: 6,
  },
  accountingStart: { name: 'Network session started', action: 'network-session-started', severity: 1 },
  accountingInterim: { name: 'Network session continued', action: 'network-session-continued', severity: 1 },
  accountingStop: { name: 'Network session ended', action: 'network-session-ended', severity: 1 },
  credential: { name: 'Credential created', action: 'credential-created', severity: 4 },
  email: { name: 'Email sent', action: 'email-sent', severity: 1 },
  sms: { name: 'SMS sent', action: 'sms-sent', severity: 1 },
  gdpr: { name: 'Personal data deleted', action: 'personal-data-deleted', severity: 6 },
  location: { name: 'Client located', action: 'client-located', severity: 0 },
  alert: { name: 'Network alert', action: 'network-alert', severity: 5 },
};

/** Prepares something for each kind when its first record comes. */
export function eachKind<T>(prepare: (kind: RecordKind, text: KindText) => T): (kind: RecordKind) => T {
  const prepared = new Map<RecordKind, T>();
  return (kind) => {
    const ready = prepared.get(kind) ?? prepare(kind, KINDS[kind]);
    prepared.set(kind, ready);
    return ready;
  };
}

/** The codes in the specification ("Audit-log delivery"). */
const KIND_OF_CODE: ReadonlyMap<unknown, RecordKind> = new Map([
  ['10001', 'login'],
  ['10002', 'logout'],
  ['40001', 'ppskCreated'],
  ['40003', 'ppskDeleted'],
]);

const KIND_OF_TYPE: Readonly<
  Record<MessageType, RecordKind | ((columns: StoredEvent['columns']) => RecordKind)>
> = {
  AUDIT_LOG_ALL: ({ code }) => KIND_OF_CODE.get(code) ?? 'configuration',
  AUTHENTICATION_LOG_ALL: 'authentication',
  ACCOUNTING_LOG_ALL: accountingKind,
  CREDENTIAL_LOG_ALL: 'credential',
  EMAIL_LOG_ALL: 'email',
  SMS_LOG_ALL: 'sms',
  GDPR_LOG_ALL: 'gdpr',
  LOCATION_AP_CENTRIC: 'location',
  LOCATION_CLIENT_CENTRIC: 'location',
  ALERT: 'alert',
};

/** The kind of an event's record. */
export function recordKind({ messageType, columns }: StoredEvent): RecordKind {
  const kind = KIND_OF_TYPE[messageType];
  return typeof kind === 'string' ? kind : kind(columns);
}

/**
 * The record lacks its type (RFC 2866, Acct-Status-Type). Only a stop has a time or cause of its end, and only a start
 * has no usage yet.
 */
function accountingKind(columns: StoredEvent['columns']): RecordKind {
  if (columns['acct_stop_time'] || columns['acct_terminate_cause']) return 'accountingStop';
  const used = ['acct_session_time', 'acct_input_octets', 'acct_output_octets'];
  return used.some((column) => Number(columns[column] ?? 0) > 0) ? 'accountingInterim' : 'accountingStart';
}

/** The outcome by status or RADIUS reply, in the words of the service and of RFC 2865. */
const OUTCOME_OF_WORD: ReadonlyMap<string, Outcome> = new Map([
  ['success', 'success'],
  ['complete', 'success'],
  ['access-accept', 'success'],
  ['fail', 'failure'],
  ['failed', 'failure'],
  ['access-reject', 'failure'],
]);

/** The outcome, as far as the record contains it. The four documented audit codes mean success. */
export function outcomeOf(kind: RecordKind, { columns }: StoredEvent): Outcome {
  if (kind === 'login' || kind === 'logout' || kind === 'ppskCreated' || kind === 'ppskDeleted') {
    return 'success';
  }
  const word = columns['reply'] ?? columns['status'];
  const told = typeof word === 'string' ? OUTCOME_OF_WORD.get(word.trim().toLowerCase()) : undefined;
  return told ?? (columns['reject_reason'] ? 'failure' : 'unknown');
}

/** The severities of alerts by id: critical, warning and info (published OpenAPI description, `XiqAlertRule`). */
const SEVERITY_OF_ALERT: ReadonlyMap<unknown, number> = new Map([
  ['1', 9],
  ['2', 6],
  ['3', 3],
]);

/** The severity from 0 to 10, as in CEF: that of an alert's record, else that of the kind. */
export function severityOf(kind: RecordKind, outcome: Outcome, { columns }: StoredEvent): number {
  const { severity, failed } = KINDS[kind];
  const told = kind === 'alert' ? SEVERITY_OF_ALERT.get(columns['severity_id']) : undefined;
  return told ?? (outcome === 'failure' ? (failed ?? severity) : severity);
}
