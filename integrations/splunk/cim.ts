import { MESSAGE_TYPES, OWN_TYPES, type MessageType } from '../../src/events/domain.ts';
import { PPSK_USER, PRODUCT, VENDOR } from '../../src/forward/formats/facts.ts';
import {
  CHANGED,
  GDPR_FILLERS,
  KIND_OF_CODE,
  KIND_OF_GDPR_WORD,
  OUTCOME_OF_WORD,
  USAGE,
  type Outcome,
  type RecordKind,
} from '../../src/events/record-kind.ts';

/** How to read a value from an event in the format `json`. Undefined where the event has none. */
export type Expression =
  /** A column, or a member of the payload (`payload.rule`). */
  | { readonly field: string }
  /** The groups of a regular expression in a field, without regard to case. */
  | { readonly capture: string; readonly of: string }
  | { readonly text: string }
  /** The first that has a value. */
  | { readonly first: readonly Expression[] }
  /** The value of the first condition that is true. */
  | { readonly cases: readonly Case[] };

type Case = readonly [Condition, Expression];

export type Condition =
  | { readonly set: string }
  /** The trimmed value in lower case is one of these. */
  | { readonly word: string; readonly among: readonly string[] }
  | { readonly matches: string; readonly of: string }
  | { readonly any: readonly Condition[] }
  | { readonly all: readonly Condition[] }
  | { readonly not: Condition };

const field = (name: string): Expression => ({ field: name });
const text = (value: string): Expression => ({ text: value });
const first = (...fields: string[]): Expression => ({ first: fields.map(field) });
const when = (...cases: Case[]): Expression => ({ cases });
const set = (name: string): Condition => ({ set: name });
const word = (name: string, ...among: string[]): Condition => ({ word: name, among });

const keysOf = <V>(map: ReadonlyMap<unknown, V>, wanted: V): string[] =>
  [...map].filter(([, value]) => value === wanted).map(([key]) => String(key));

const isCode = (...kinds: RecordKind[]): Condition =>
  word('code', ...kinds.flatMap((kind) => keysOf(KIND_OF_CODE, kind)));

const isPpsk = isCode('ppskCreated', 'ppskDeleted');

/** The records of kinds that have a code are something else before they are a change. */
const isChange: Condition = { any: CHANGED.map(set) };

const isEnded: Condition = { any: [set('acct_stop_time'), set('acct_terminate_cause')] };
const isStarted: Condition = {
  all: [{ any: USAGE.map(set) }, ...USAGE.map((name) => ({ any: [{ not: set(name) }, word(name, '0')] }))],
};

/** A category that is one of the kind's words, among words that do not matter. */
function isGdpr(kind: RecordKind): Condition {
  const fillers = `(?:${[...GDPR_FILLERS].join('|')})`;
  const words = keysOf(KIND_OF_GDPR_WORD, kind).join('|');
  return {
    of: 'category',
    matches: `^[ _-]*(?:${fillers}[ _-]+)*(?:${words})(?:[ _-]+${fillers})*[ _-]*$`,
  };
}

const isRuleAlert: Condition = {
  all: [word('origin', 'xiq-sink'), word('sent_type', OWN_TYPES.alert.toLowerCase())],
};

/** What decides the kind of a record, with the same results as `recordKind`. */
const KINDS: Readonly<
  Record<MessageType, { readonly cases?: readonly [Condition, RecordKind][]; readonly otherwise: RecordKind }>
> = {
  AUDIT_LOG_ALL: {
    cases: [
      ...[...new Set(KIND_OF_CODE.values())].map((kind): [Condition, RecordKind] => [isCode(kind), kind]),
      [isChange, 'configuration'],
    ],
    otherwise: 'audit',
  },
  AUTHENTICATION_LOG_ALL: { otherwise: 'authentication' },
  ACCOUNTING_LOG_ALL: {
    cases: [
      [isEnded, 'accountingStop'],
      [isStarted, 'accountingStart'],
    ],
    otherwise: 'accountingInterim',
  },
  CREDENTIAL_LOG_ALL: { otherwise: 'credential' },
  EMAIL_LOG_ALL: { otherwise: 'email' },
  SMS_LOG_ALL: { otherwise: 'sms' },
  GDPR_LOG_ALL: {
    cases: [
      [isGdpr('gdprDeletion'), 'gdprDeletion'],
      [isGdpr('gdprDownload'), 'gdprDownload'],
    ],
    otherwise: 'gdpr',
  },
  LOCATION_AP_CENTRIC: { otherwise: 'location' },
  LOCATION_CLIENT_CENTRIC: { otherwise: 'location' },
  ALERT: { otherwise: 'alert' },
  OTHER: { cases: [[isRuleAlert, 'ruleAlert']], otherwise: 'other' },
};

function kindOf(messageType: MessageType): Expression {
  const { cases = [], otherwise } = KINDS[messageType];
  const kinds = cases.map(([condition, kind]): Case => [condition, text(kind)]);
  return kinds.length === 0 ? text(otherwise) : { first: [when(...kinds), text(otherwise)] };
}

/** `success` or `failure` by the words of a column; no value otherwise, which the data models show as `unknown`. */
const outcome = (column: string, results: Readonly<Partial<Record<Outcome, string>>> = {}): Case[] =>
  (['success', 'failure'] as const).map((result) => [
    word(column, ...keysOf(OUTCOME_OF_WORD, result)),
    text(results[result] ?? result),
  ]);

const CLIENT = {
  src: first('ipv4', 'ipv6', 'client_mac'),
  src_ip: first('ipv4', 'ipv6'),
  src_mac: field('client_mac'),
};
const ACCESS_POINT = first('nas_identifier', 'ap_mac');

/** The members of a GDPR record that say that the person acted. */
const GDPR_ACTOR = when([
  { all: [set('payload.admin'), { not: set('payload.username') }] },
  field('username'),
]);

const EMAIL_ADDRESS = '^[^@ ]+@[^@ ]+[.][^@ ]+$';

/** The fields of the Common Information Model by message type. */
const CIM_FIELDS: Readonly<Record<MessageType, Readonly<Record<string, Expression>>>> = {
  AUDIT_LOG_ALL: {
    action: when(
      [isCode('login'), text('success')],
      [isCode('logout'), text('logoff')],
      [isCode('ppskCreated'), text('created')],
      [isCode('ppskDeleted'), text('deleted')],
      [isChange, text('modified')],
    ),
    app: text(PRODUCT),
    change_type: when([isPpsk, text('AAA')]),
    dest: { first: [field('host_names'), text(PRODUCT)] },
    object: { first: [when([isPpsk, { capture: PPSK_USER, of: 'description' }]), field('host_names')] },
    object_attrs: field('config'),
    object_category: when(
      [isPpsk, text('user')],
      [set('host_names'), text('device')],
      [isChange, text('configuration')],
    ),
    object_id: field('device_ids'),
    result: field('description'),
    signature: field('description'),
    signature_id: field('code'),
    // In account changes, `user` is the account, and `src_user` the person that changed it.
    src_user: when([isPpsk, field('user_name')]),
    status: when([isCode(...new Set(KIND_OF_CODE.values())), text('success')]),
    user: { first: [when([isPpsk, { capture: PPSK_USER, of: 'description' }]), field('user_name')] },
    user_id: when([{ not: isPpsk }, field('user_id')]),
  },
  AUTHENTICATION_LOG_ALL: {
    action: when(...outcome('reply'), [set('reject_reason'), text('failure')]),
    app: text(PRODUCT),
    authentication_method: field('auth_type'),
    dest: ACCESS_POINT,
    dest_mac: field('ap_mac'),
    reason: field('reject_reason'),
    signature: field('reply'),
    src: first('client_mac', 'calling_station_id'),
    src_mac: field('client_mac'),
    user: field('username'),
  },
  ACCOUNTING_LOG_ALL: {
    // The data model calls the client of a session its destination.
    dest: first('framed_ip_address', 'client_mac'),
    dest_ip: field('framed_ip_address'),
    dest_mac: field('client_mac'),
    duration: field('acct_session_time'),
    dvc: ACCESS_POINT,
    reason: field('acct_terminate_cause'),
    session_id: field('acct_session_id'),
    signature: kindOf('ACCOUNTING_LOG_ALL'),
    src: first('client_mac', 'calling_station_id'),
    src_ip: field('framed_ip_address'),
    src_mac: field('client_mac'),
    user: field('username'),
  },
  CREDENTIAL_LOG_ALL: { user: field('username') },
  EMAIL_LOG_ALL: {
    action: when([word('status', ...keysOf(OUTCOME_OF_WORD, 'success')), text('delivered')]),
    recipient: when(
      ...['username', 'approver_email'].map((name): Case => [
        { matches: EMAIL_ADDRESS, of: name },
        field(name),
      ]),
    ),
    status_code: field('status'),
  },
  SMS_LOG_ALL: { recipient: field('tel'), status_code: field('status') },
  GDPR_LOG_ALL: {
    action: when([isGdpr('gdprDeletion'), text('deleted')], [isGdpr('gdprDownload'), text('read')]),
    dest: text(PRODUCT),
    object: field('client_mac'),
    object_category: text('personal data'),
    result: first('description', 'status'),
    src_mac: field('client_mac'),
    status: when(...outcome('status')),
    user: GDPR_ACTOR,
  },
  LOCATION_AP_CENTRIC: { ...CLIENT, dvc: field('ap_mac') },
  LOCATION_CLIENT_CENTRIC: {
    src: first('ipv4', 'client_mac'),
    src_ip: field('ipv4'),
    src_mac: field('client_mac'),
    dvc: field('ap_mac'),
  },
  ALERT: {
    app: text(PRODUCT),
    description: field('summary'),
    dest: first('alert_source_name', 'alert_source_id'),
    id: first('record_id', 'event_id'),
    severity: when(
      [word('severity_id', '1'), text('critical')],
      [word('severity_id', '2'), text('medium')],
      [word('severity_id', '3'), text('informational')],
    ),
    severity_id: field('severity_id'),
    signature: field('summary'),
    signature_id: field('message_metadata_id'),
    type: text('alert'),
  },
  OTHER: {
    app: when([isRuleAlert, text('xiq-sink')]),
    description: when([isRuleAlert, field('payload.summary')]),
    id: when([isRuleAlert, field('event_id')]),
    severity: when([isRuleAlert, field('payload.severity')]),
    signature: when([isRuleAlert, field('payload.title')]),
    signature_id: when([isRuleAlert, field('payload.rule')]),
    src_mac: when([isRuleAlert, field('payload.group.client_mac')]),
    type: when([isRuleAlert, text('alert')]),
    user: when([isRuleAlert, first('payload.group.user_name', 'payload.group.username')]),
  },
};

/** All calculated fields of a message type: those of the model, the maker, the kind of the record and its source. */
export const calculatedFields = (messageType: MessageType): Readonly<Record<string, Expression>> => ({
  ...CIM_FIELDS[messageType],
  vendor_product: text(`${VENDOR} ${PRODUCT}`),
  xiq_kind: kindOf(messageType),
  xiq_source: field('source'),
});

/** The message types whose records can be of a kind. */
export const typesOfKind = (kind: RecordKind): MessageType[] =>
  MESSAGE_TYPES.filter((messageType) => {
    const { cases = [], otherwise } = KINDS[messageType];
    return otherwise === kind || cases.some(([, one]) => one === kind);
  });

const CHANGE = ['change'];
const ACCOUNT_CHANGE = ['account', 'change'];
const AUTHENTICATION = ['authentication'];
const SESSION = ['network', 'session'];
const ALERT = ['alert'];

/** The tags that put a kind of record into a data model. A kind without tags is in none. */
export const TAGS: Readonly<Record<RecordKind, readonly string[] | undefined>> = {
  login: AUTHENTICATION,
  logout: undefined,
  ppskCreated: ACCOUNT_CHANGE,
  ppskDeleted: ACCOUNT_CHANGE,
  configuration: [...CHANGE, 'network'],
  audit: undefined,
  authentication: AUTHENTICATION,
  accountingStart: [...SESSION, 'start'],
  accountingInterim: SESSION,
  accountingStop: [...SESSION, 'end'],
  credential: undefined,
  email: ['delivery', 'email'],
  sms: undefined,
  gdprDeletion: CHANGE,
  gdprDownload: undefined,
  gdpr: undefined,
  location: undefined,
  alert: ALERT,
  ruleAlert: ALERT,
  other: undefined,
};
