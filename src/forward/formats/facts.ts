import { ownTypeOf, type StoredEvent } from '../../events/stored-event.ts';
import { OWN_TYPES, type MessageType } from '../../events/domain.ts';
import { readAlertRecord, type AlertRecord } from '../../events/rule-alert.ts';
import { list, type Fact } from './readings.ts';
import {
  outcomeOf,
  recordKind,
  severityOf,
  actionOfEvent,
  titleOf,
  type Outcome,
  type RecordKind,
} from '../../events/record-kind.ts';

/** The maker and the product that events come from; every format names them. */
export const VENDOR = 'Extreme Networks';
export const PRODUCT = 'ExtremeCloud IQ';

/** The facts of an event, by the names that the formats' tables map. A fact that the event does not have is absent. */
export interface Facts {
  readonly kind: RecordKind;
  readonly outcome: Outcome;
  /** Envelope and typed columns. A name has the same meaning in every message type. */
  readonly recorded: Readonly<Record<string, Fact>>;
  readonly derived: Readonly<Record<string, Fact>>;
}

/**
 * Columns whose facts have other names: the same meaning under another name, or another meaning under the same name.
 * An id and a name are one person only in an audit record, whose members say so. The subject of a credential did not
 * make it. The other columns keep their names.
 */
export const FACT_OF_COLUMN: Partial<Record<MessageType, Readonly<Record<string, string>>>> = {
  AUDIT_LOG_ALL: { user_id: 'actor_id', user_name: 'actor_name' },
  CREDENTIAL_LOG_ALL: { username: 'target_user' },
  AUTHENTICATION_LOG_ALL: { username: 'user_name' },
  ACCOUNTING_LOG_ALL: { username: 'user_name' },
  ALERT: { summary: 'description' },
};
const GDPR_BY_ADMIN = { username: 'actor_name', category: 'gdpr_category' };
const GDPR = { category: 'gdpr_category' };

/** Only the member `admin` of a GDPR record says that the person acted. */
function factNames({ messageType, payload }: StoredEvent): Readonly<Record<string, string>> {
  if (messageType !== 'GDPR_LOG_ALL') return FACT_OF_COLUMN[messageType] ?? {};
  const { admin, username } = payload;
  return admin !== undefined && username === undefined ? GDPR_BY_ADMIN : GDPR;
}

export function factsOf(event: StoredEvent): Facts {
  const recorded: Record<string, Fact> = {
    occurred_at: event.occurredAt,
    event_id: event.eventId,
    delivery_id: event.deliveryId,
    source: event.source,
    message_type: event.messageType,
    received_at: event.receivedAt,
    origin: event.origin,
  };
  if (event.ownerId !== null) recorded['owner_id'] = event.ownerId;
  if (event.orgId !== null) recorded['org_id'] = event.orgId;
  const names = factNames(event);
  for (const column of Object.keys(event.columns)) {
    const value = event.columns[column];
    if (value !== undefined && value !== null && value.length > 0) recorded[names[column] ?? column] = value;
  }
  if (event.organization !== undefined) recorded['org_name'] ??= event.organization;
  const kind = recordKind(event);
  const alert = kind === 'ruleAlert' ? readAlertRecord(event) : undefined;
  if (alert !== undefined) Object.assign(recorded, alertFacts(alert));
  const own = ownTypeOf(event);
  if (own !== undefined && typeof event.payload['description'] === 'string')
    recorded['description'] = event.payload['description'];
  const outcome = outcomeOf(kind, event);
  const derived: Record<string, Fact> = {
    outcome,
    name: alert?.title ?? NAME_OF_OWN.get(own ?? '') ?? titleOf(kind, outcome, event),
    action: actionOfEvent(kind, outcome, event),
    severity: String(severityOfEvent(event)),
    /** Writing it takes as long as all other facts, and some formats leave it out. */
    get payload() {
      return JSON.stringify(event.payload);
    },
  };
  derive(kind, recorded, derived);
  return { kind, outcome, recorded, derived };
}

/** The events of this program that are no alerts. */
const NAME_OF_OWN: ReadonlyMap<string, string> = new Map([
  [OWN_TYPES.subscription, 'Webhook subscription changed or disabled'],
  [OWN_TYPES.checkpoint, 'Checkpoint of the log'],
]);

const RULE_SEVERITY = { low: 3, medium: 5, high: 8, critical: 10 } as const;

/** The severity of an event as in CEF, 0 to 10. */
export function severityOfEvent(event: StoredEvent): number {
  const kind = recordKind(event);
  if (kind === 'ruleAlert') return RULE_SEVERITY[readAlertRecord(event).severity];
  return severityOf(kind, outcomeOf(kind, event), event);
}

/** The facts of an alert that a rule raised. Its group names the columns of the events that caused it. */
function alertFacts(alert: AlertRecord): Record<string, Fact> {
  const { rule, title, summary, group, count, first_at, last_at, causes } = alert;
  return {
    ...group,
    description: summary,
    rule_name: rule,
    rule_title: title,
    alert_count: String(count),
    start_time: first_at,
    end_time: last_at,
    cause_ids: causes.map((cause) => cause.event_id),
  };
}

function derive(kind: RecordKind, recorded: Readonly<Record<string, Fact>>, derived: Record<string, Fact>) {
  const actor = one(recorded['actor_name']);
  const user = one(recorded['user_name']) ?? actor;
  const username = one(recorded['username']);
  const target = one(recorded['target_user']) ?? targetUser(kind, one(recorded['description']));
  const clientIp = recorded['ipv4'] ?? recorded['framed_ip_address'] ?? recorded['ipv6'];
  const clientIps = [clientIp, recorded['ipv6']].flatMap((ip) => ip ?? []);
  const approver = one(recorded['approver_email']);
  const recipient = kind === 'email' ? (emailOf(username) ?? emailOf(approver)) : undefined;
  const others = [username, one(recorded['identity']), approver, one(recorded['acknowledged_username'])];

  const add = (name: string, fact: Fact | undefined) => {
    if (fact !== undefined && fact.length > 0) derived[name] = fact;
  };
  add('actor_email', emailOf(actor));
  add('user_email', emailOf(user));
  add('user_domain', domainOf(user));
  add('target_user', target);
  add('related_users', unique([user, target, ...others]));
  add('related_hosts', unique([...list(recorded['host_names'] ?? []), one(recorded['nas_identifier'])]));
  add('client_ip', clientIp);
  add('client_ips', unique(clientIps));
  add('identity_ip', recorded['user_name'] === undefined ? undefined : clientIp);
  add('related_ips', unique([...clientIps, one(recorded['nas_ip_address'])]));
  add('access_point', isAccessPoint(kind, recorded) ? 'access-point' : undefined);
  add('auth_protocol', recorded['auth_type']);
  add('host_name', one(recorded['host_names']));
  add('device_id', one(recorded['device_ids']));
  add('position', positionOf(one(recorded['lat']), one(recorded['lng'])));
  add('recipient', recipient);
  add(
    'lone_ap',
    recorded['client_mac'] === undefined && clientIp === undefined ? recorded['ap_mac'] : undefined,
  );
}

const unique = (values: readonly (string | undefined)[]): string[] => [
  ...new Set(values.filter((value) => value !== undefined)),
];

/** The member `apMac` names an access point; other devices report wired clients. */
const isAccessPoint = (kind: RecordKind, recorded: Readonly<Record<string, Fact>>): boolean =>
  (kind === 'location' && recorded['ap_mac'] !== undefined) ||
  (one(recorded['nas_port_type'])?.startsWith('Wireless') ?? false);

/** The directory before a backslash (`EXAMPLE\jane`), else the domain of an address. */
function domainOf(name: string | undefined): string | undefined {
  const windows = name?.slice(0, MAX_EMAIL_LENGTH).split('\\') ?? [];
  return windows.length === 2 && windows[1] !== '' ? windows[0] : emailOf(name)?.split('@')[1];
}

/** The text, or the only element of a list. */
function one(fact: Fact | undefined): string | undefined {
  if (typeof fact === 'string') return fact;
  return fact?.length === 1 ? fact[0] : undefined;
}

/** Longer than any mail address may be (RFC 3696, erratum 1690). */
const MAX_EMAIL_LENGTH = 254;

function emailOf(name: string | undefined): string | undefined {
  if (name === undefined || name.length > MAX_EMAIL_LENGTH) return undefined;
  return /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(?:\.[a-z\d-]+)+$/i.test(name) ? name : undefined;
}

/** Longer than a name and the words around it, in characters. */
const NAME_WINDOW = 300;

/** The user of a private key in a description: one of three groups has the name. */
export const PPSK_USER = String.raw`\bPPSK user:?\s{1,8}(?:"([^"]+)"|'([^']+)'|([^\s"']+))`;

const AT_START = new RegExp(`^${PPSK_USER}`, 'i');

/** The user of a private key is only in the description: "Cloud PPSK user NAME was created". */
function targetUser(kind: RecordKind, description: string | undefined): string | undefined {
  if (description === undefined || (kind !== 'ppskCreated' && kind !== 'ppskDeleted')) return undefined;
  const start = description.search(/\bPPSK user\b/i);
  if (start < 0) return undefined;
  const window = description.slice(start, start + NAME_WINDOW);
  const name = AT_START.exec(window);
  return name?.[1] ?? name?.[2] ?? name?.[3];
}

/** Latitude and longitude as "lat,lng", if they are a place on earth. */
function positionOf(lat: string | undefined, lng: string | undefined): string | undefined {
  if (lat === undefined || lng === undefined) return undefined;
  return Math.abs(Number(lat)) <= 90 && Math.abs(Number(lng)) <= 180
    ? `${Number(lat)},${Number(lng)}`
    : undefined;
}
