import type { MessageType } from './domain.ts';
import { isRuleAlert, type StoredEvent } from './stored-event.ts';

/** What happened, according to the record: the row in every format's table. */
export const RECORD_KINDS = [
  'login',
  'logout',
  'ppskCreated',
  'ppskDeleted',
  'configuration',
  'audit',
  'authentication',
  'accountingStart',
  'accountingInterim',
  'accountingStop',
  'credential',
  'email',
  'sms',
  'gdprDeletion',
  'gdprDownload',
  'gdpr',
  'location',
  'alert',
  'ruleAlert',
  'other',
] as const;

export type RecordKind = (typeof RECORD_KINDS)[number];

export type Outcome = 'success' | 'failure' | 'unknown';

/** What is known of a kind: console, search and all formats name it by the same words. */
export interface KindText {
  readonly title: string;
  /** The word of searches and of SIEMs. */
  readonly action: string;
  /** Words that a search still accepts for the action. */
  readonly synonyms?: readonly string[];
  /** 0 to 10, as in CEF; `failed` if a failure is more severe. */
  readonly severity: number;
  readonly failed?: number;
  /** The columns that make a record one of this kind; none if its message type does. */
  readonly members: readonly string[];
}

/** The columns of an accounting record that report usage. */
export const USAGE = ['acct_session_time', 'acct_input_octets', 'acct_output_octets'];
/** The columns of an audit record that say that something was changed. */
export const CHANGED = ['config', 'host_names', 'device_ids'];

const KINDS: Readonly<Record<RecordKind, KindText>> = {
  login: { title: 'Login', action: 'login', synonyms: ['user-logged-in'], severity: 3, members: ['code'] },
  logout: {
    title: 'Logout',
    action: 'logout',
    synonyms: ['user-logged-out'],
    severity: 2,
    members: ['code'],
  },
  ppskCreated: {
    title: 'Private key created',
    action: 'private-key-created',
    synonyms: ['ppsk-user-created'],
    severity: 4,
    members: ['code'],
  },
  ppskDeleted: {
    title: 'Private key deleted',
    action: 'private-key-deleted',
    synonyms: ['ppsk-user-deleted'],
    severity: 5,
    members: ['code'],
  },
  configuration: {
    title: 'Configuration changed',
    action: 'configuration-changed',
    severity: 5,
    members: CHANGED,
  },
  audit: { title: 'Audit event', action: 'audit', synonyms: ['audit-record'], severity: 3, members: [] },
  authentication: {
    title: 'Network login',
    action: 'network-login',
    synonyms: ['network-authentication'],
    severity: 3,
    failed: 6,
    members: [],
  },
  accountingStart: {
    title: 'Session started',
    action: 'session-started',
    synonyms: ['network-session-started'],
    severity: 1,
    members: USAGE,
  },
  accountingInterim: {
    title: 'Session reported',
    action: 'session-reported',
    synonyms: ['network-session-reported'],
    severity: 1,
    members: [],
  },
  accountingStop: {
    title: 'Session ended',
    action: 'session-ended',
    synonyms: ['network-session-ended'],
    severity: 1,
    members: ['acct_stop_time', 'acct_terminate_cause'],
  },
  credential: { title: 'Credential event', action: 'credential-event', severity: 4, members: [] },
  email: {
    title: 'Email sent',
    action: 'email-sent',
    synonyms: ['e-mail-sent', 'email-event'],
    severity: 1,
    members: [],
  },
  sms: { title: 'SMS sent', action: 'sms-sent', synonyms: ['sms-event'], severity: 1, members: [] },
  gdprDeletion: {
    title: 'Personal data deletion',
    action: 'personal-data-deletion',
    synonyms: ['personal-data-deleted'],
    severity: 6,
    members: ['category', 'status'],
  },
  gdprDownload: {
    title: 'Personal data download',
    action: 'personal-data-download',
    synonyms: ['personal-data-downloaded'],
    severity: 4,
    members: ['category', 'status'],
  },
  gdpr: {
    title: 'Personal data request',
    action: 'personal-data-request',
    synonyms: ['gdpr-event'],
    severity: 3,
    members: [],
  },
  location: {
    title: 'Client seen',
    action: 'client-seen',
    synonyms: ['location-report'],
    severity: 0,
    members: [],
  },
  alert: { title: 'Alert', action: 'alert', synonyms: ['network-alert'], severity: 5, members: [] },
  ruleAlert: {
    title: 'Rule alert',
    action: 'rule-alert',
    synonyms: ['alert-of-a-rule'],
    severity: 5,
    members: ['sent_type'],
  },
  other: { title: 'Other event', action: 'other-event', severity: 1, members: [] },
};

export const ACTION_TITLES: Readonly<Record<string, string>> = Object.fromEntries(
  RECORD_KINDS.map((kind) => [KINDS[kind].action, KINDS[kind].title]),
);

/** The action of a kind, as searches, facets and SIEMs name it: `private-key-created`. */
export const actionOf = (kind: RecordKind): string => KINDS[kind].action;

/** The kinds that an action or one of its synonyms means, in words or with hyphens; with a prefix, those that begin with it. */
export function kindsNamed(text: string, isPrefix: boolean): readonly RecordKind[] {
  const name = text.toLowerCase().replaceAll(/[-_ ]+/g, '-');
  const isNamed = (word: string) => word === name || (isPrefix && word.startsWith(name));
  return RECORD_KINDS.filter((kind) => [KINDS[kind].action, ...(KINDS[kind].synonyms ?? [])].some(isNamed));
}

/** Prepares something for each kind when its first record comes. */
export function memoizeByKind<T>(prepare: (kind: RecordKind, text: KindText) => T): (kind: RecordKind) => T {
  const prepared = new Map<RecordKind, T>();
  return (kind) => {
    const ready = prepared.get(kind) ?? prepare(kind, KINDS[kind]);
    prepared.set(kind, ready);
    return ready;
  };
}

/** The codes in the specification ("Audit-log delivery"). */
export const KIND_OF_CODE: ReadonlyMap<string, RecordKind> = new Map([
  ['10001', 'login'],
  ['10002', 'logout'],
  ['40001', 'ppskCreated'],
  ['40003', 'ppskDeleted'],
]);

/** The kind of the records of each message type, or how to read it. */
export const KIND_OF_TYPE: Readonly<
  Record<MessageType, RecordKind | ((columns: StoredEvent['columns']) => RecordKind)>
> = {
  AUDIT_LOG_ALL: auditKind,
  AUTHENTICATION_LOG_ALL: 'authentication',
  ACCOUNTING_LOG_ALL: accountingKind,
  CREDENTIAL_LOG_ALL: 'credential',
  EMAIL_LOG_ALL: 'email',
  SMS_LOG_ALL: 'sms',
  GDPR_LOG_ALL: gdprKind,
  LOCATION_AP_CENTRIC: 'location',
  LOCATION_CLIENT_CENTRIC: 'location',
  ALERT: 'alert',
  OTHER: 'other',
};

/** The kinds of message types whose records can be of several kinds. */
const KINDS_OF_TYPE: Partial<Record<MessageType, readonly RecordKind[]>> = {
  AUDIT_LOG_ALL: ['login', 'logout', 'ppskCreated', 'ppskDeleted', 'configuration', 'audit'],
  ACCOUNTING_LOG_ALL: ['accountingStart', 'accountingInterim', 'accountingStop'],
  GDPR_LOG_ALL: ['gdprDeletion', 'gdprDownload', 'gdpr'],
  OTHER: ['ruleAlert', 'other'],
};

/** Whether records of a message type can be of one of these kinds. */
export function typeAllowsKinds(messageType: MessageType, kinds: readonly RecordKind[]): boolean {
  const kind = KIND_OF_TYPE[messageType];
  const possible = typeof kind === 'string' && messageType !== 'OTHER' ? [kind] : KINDS_OF_TYPE[messageType];
  return possible === undefined || possible.some((one) => kinds.includes(one));
}

/** The audit codes that make records one of these kinds; undefined if codes alone do not. */
export function codesOf(kinds: readonly RecordKind[]): readonly string[] | undefined {
  const known = [...KIND_OF_CODE].filter(([, kind]) => kinds.includes(kind));
  const isWhole = kinds.every((kind) => known.some(([, one]) => one === kind));
  return isWhole ? known.map(([code]) => code) : undefined;
}

/** The kind of an event's record. */
export function recordKind(event: StoredEvent): RecordKind {
  const { messageType, columns } = event;
  if (isRuleAlert(event)) return 'ruleAlert';
  const kind = KIND_OF_TYPE[messageType];
  return typeof kind === 'string' ? kind : kind(columns);
}

/** A code alone, unless it is documented, does not say what happened. */
function auditKind(columns: StoredEvent['columns']): RecordKind {
  const { code } = columns;
  const known = typeof code === 'string' ? KIND_OF_CODE.get(code) : undefined;
  if (known !== undefined) return known;
  return CHANGED.some((column) => (columns[column]?.length ?? 0) > 0) ? 'configuration' : 'audit';
}

/**
 * The record lacks its type (RFC 2866, Acct-Status-Type). Only a stop has a time or cause of its end, and only a start
 * reports that nothing was used yet.
 */
function accountingKind(columns: StoredEvent['columns']): RecordKind {
  if (columns['acct_stop_time'] || columns['acct_terminate_cause']) return 'accountingStop';
  const told = USAGE.flatMap((column) => columns[column] ?? []);
  return told.length > 0 && told.every((usage) => Number(usage) === 0)
    ? 'accountingStart'
    : 'accountingInterim';
}

export const KIND_OF_GDPR_WORD: ReadonlyMap<string, RecordKind> = new Map([
  ...['delete', 'deleted', 'deletion', 'erase', 'erased', 'erasure'].map(
    (word) => [word, 'gdprDeletion'] as const,
  ),
  ...['download', 'downloaded', 'export', 'exported'].map((word) => [word, 'gdprDownload'] as const),
]);

/** Words of a category beside the one that names the request. */
export const GDPR_FILLERS = new Set(['client', 'data', 'gdpr', 'personal', 'request', 'user']);

/** The categories are not published, so only a category that is one known word counts. */
function gdprKind({ category }: StoredEvent['columns']): RecordKind {
  const words = wordsOf(category).filter((word) => !GDPR_FILLERS.has(word));
  return (words.length === 1 ? KIND_OF_GDPR_WORD.get(words[0] ?? '') : undefined) ?? 'gdpr';
}

/** Longer than any category or status. */
export const MAX_WORDS_LENGTH = 64;

const wordsOf = (value: StoredEvent['columns'][string] | undefined): string[] =>
  typeof value === 'string' && value.length <= MAX_WORDS_LENGTH
    ? value
        .toLowerCase()
        .split(/[\s_-]+/)
        .filter((word) => word !== '')
    : [];

const IN_PROGRESS = new Set(['in progress', 'inprogress', 'pending', 'processing', 'running']);

/** What happened, in a few words: `Login`, `Network login rejected`. */
export function titleOf(kind: RecordKind, outcome: Outcome, { columns }: StoredEvent): string {
  const { title } = KINDS[kind];
  if (kind === 'email' || kind === 'sms')
    return outcome === 'failure' ? title.replace('sent', 'not sent') : title;
  if (kind === 'authentication' && outcome !== 'unknown') {
    return `${title} ${outcome === 'failure' ? 'rejected' : 'accepted'}`;
  }
  const progress = progressOf(kind, outcome, columns);
  return progress === undefined ? title : `${title} ${progress}`;
}

/** The action of an event: that of its kind, with the code that is not documented, or how far a request has come. */
export function actionOfEvent(kind: RecordKind, outcome: Outcome, { columns }: StoredEvent): string {
  const { action } = KINDS[kind];
  const { code } = columns;
  const suffix = kind === 'audit' ? code : progressOf(kind, outcome, columns)?.replace(' ', '-');
  return typeof suffix === 'string' ? `${action}-${suffix}` : action;
}

/** How far a request about personal data has come, if the record says so. */
function progressOf(kind: RecordKind, outcome: Outcome, { status }: StoredEvent['columns']) {
  if (kind !== 'gdprDeletion' && kind !== 'gdprDownload') return undefined;
  if (outcome !== 'unknown') return outcome === 'success' ? 'completed' : 'failed';
  return IN_PROGRESS.has(wordsOf(status).join(' ')) ? 'in progress' : undefined;
}

/** The outcome by status or RADIUS reply, in the words of the service and of RFC 2865. */
export const OUTCOME_OF_WORD: ReadonlyMap<string, Outcome> = new Map([
  ['success', 'success'],
  ['complete', 'success'],
  ['completed', 'success'],
  ['done', 'success'],
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
