import type { StoredEvent } from '../../store/stored-event.ts';
import { outcomeOf, recordKind, severityOf, type RecordKind } from './record-kind.ts';

/** The maker and the product that events come from; every format names them. */
export const VENDOR = 'Extreme Networks';
export const PRODUCT = 'ExtremeCloud IQ';

export type Fact = string | readonly string[];

/** The facts of an event, by the names that the formats' tables map. A fact that the event does not have is absent. */
export interface Facts {
  readonly kind: RecordKind;
  /** Envelope and typed columns. A name has the same meaning in every message type. */
  readonly told: Readonly<Record<string, Fact>>;
  /** Facts that follow from the told ones. */
  readonly derived: Readonly<Record<string, Fact>>;
}

/** Columns whose names differ for the same meaning, or are the same for different meanings. */
const FACT_OF_COLUMN: Readonly<Record<string, string>> = { username: 'user_name', summary: 'description' };
const FACT_OF_GDPR_COLUMN: Readonly<Record<string, string>> = {
  ...FACT_OF_COLUMN,
  category: 'gdpr_category',
};

/** Reads an event's facts. */
export function factsOf(event: StoredEvent): Facts {
  const told: Record<string, Fact> = {
    occurred_at: event.occurredAt,
    event_id: event.eventId,
    delivery_id: event.deliveryId,
    source: event.source,
    message_type: event.messageType,
    received_at: event.receivedAt,
    origin: event.origin,
  };
  if (event.ownerId !== null) told['owner_id'] = event.ownerId;
  if (event.orgId !== null) told['org_id'] = event.orgId;
  const names = event.messageType === 'GDPR_LOG_ALL' ? FACT_OF_GDPR_COLUMN : FACT_OF_COLUMN;
  for (const column of Object.keys(event.columns)) {
    const value = event.columns[column];
    if (value !== undefined && value !== null && value.length > 0) told[names[column] ?? column] = value;
  }
  const kind = recordKind(event);
  const outcome = outcomeOf(kind, event);
  const derived = {
    ...derive(kind, told),
    outcome,
    severity: String(severityOf(kind, outcome, event)),
    payload: JSON.stringify(event.payload),
  };
  return { kind, told, derived };
}

function derive(kind: RecordKind, told: Readonly<Record<string, Fact>>): Record<string, Fact> {
  const derived: Record<string, Fact> = {};
  const userName = one(told['user_name']);
  const email = emailOf(userName);
  const target = targetUser(kind, one(told['description']));
  const clientIp = told['ipv4'] ?? told['framed_ip_address'] ?? told['ipv6'];
  const position = positionOf(one(told['lat']), one(told['lng']));
  const recipient = email ?? emailOf(one(told['approver_email']));

  const add = (name: string, fact: Fact | undefined) => {
    if (fact !== undefined && fact.length > 0) derived[name] = fact;
  };
  add('user_email', email);
  add('target_user', target);
  add(
    'related_users',
    [userName, target].filter((name) => name !== undefined),
  );
  add('client_ip', clientIp);
  add('related_ips', [...new Set([clientIp, told['ipv6']].flatMap((ip) => ip ?? []))]);
  add('host_name', one(told['host_names']));
  add('device_id', one(told['device_ids']));
  add('position', position);
  add('recipient', kind === 'email' ? recipient : undefined);
  add('lone_ap', told['client_mac'] === undefined && clientIp === undefined ? told['ap_mac'] : undefined);
  return derived;
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

/** The user of a private key is only in the description: "Cloud PPSK user NAME was created". */
function targetUser(kind: RecordKind, description: string | undefined): string | undefined {
  if (description === undefined || (kind !== 'ppskCreated' && kind !== 'ppskDeleted')) return undefined;
  const start = description.search(/\bPPSK user\b/i);
  if (start < 0) return undefined;
  const window = description.slice(start, start + NAME_WINDOW);
  const name = /^PPSK user:?\s{1,8}(?:"([^"]+)"|'([^']+)'|([^\s"']+))/i.exec(window);
  return name?.[1] ?? name?.[2] ?? name?.[3];
}

/** Latitude and longitude as "lat,lng", if they are a place on earth. */
function positionOf(lat: string | undefined, lng: string | undefined): string | undefined {
  if (lat === undefined || lng === undefined) return undefined;
  return Math.abs(Number(lat)) <= 90 && Math.abs(Number(lng)) <= 180
    ? `${Number(lat)},${Number(lng)}`
    : undefined;
}
