import { OWN_TYPES, type Family, type MessageType, type Origin } from './domain.ts';
import type { JsonObject } from './exact-json.ts';

/** One stored event: the envelope, the typed columns, and the record as sent. */
export interface StoredEvent {
  readonly id: string;
  readonly eventId: string;
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: MessageType;
  readonly family: Family;
  /** ISO 8601 in UTC, with milliseconds. */
  readonly occurredAt: string;
  readonly receivedAt: string;
  readonly ownerId: string | null;
  readonly orgId: string | null;
  readonly origin: Origin;
  /** The message type's typed columns by name, as text (times in ISO 8601); null if the record has no value. */
  readonly columns: Readonly<Record<string, string | readonly string[] | null>>;
  /** The record as sent, with every digit (exact-json.ts). */
  readonly payload: JsonObject;
  /** Where the reader looked them up, and there are any. */
  readonly names?: EventNames | undefined;
  /** The name of the organization then. Where the reader looked it up alone, for a destination. */
  readonly organization?: string | undefined;
}

/** The names that the inventory had at the time of an event. */
export interface EventNames {
  /** Host name of the access point. */
  readonly accessPoint: string | null;
  /** The building and the floor: `Building 2, Floor 1`. */
  readonly place: string | null;
  /** The name of the user, if it is one of the account in the cloud. */
  readonly person: string | null;
  readonly role: string | null;
  /** The name of the organization `orgId`. */
  readonly organization: string | null;
}

export const isRuleAlert = (event: StoredEvent): boolean => ownTypeOf(event) === OWN_TYPES.alert;

/** The type of an event of this program. A sender can choose the name of its type, but not the origin. */
export const ownTypeOf = ({ messageType, origin, columns }: StoredEvent): string | undefined =>
  messageType === 'OTHER' && origin === 'xiq-sink' ? (textOf(columns['sent_type']) ?? undefined) : undefined;

/** A stored event with its position in the log. */
export interface LoggedEvent extends StoredEvent {
  readonly position: number;
}

/** The columns of an event in the view `events` beside the envelope: those that more than one family has. */
export function viewEvent({ family, columns }: Pick<StoredEvent, 'family' | 'columns'>) {
  return {
    user: textOf(columns[family === 'audit' ? 'user_name' : 'username']),
    code: textOf(columns['code']),
    clientMac: textOf(columns['client_mac']),
    apMac: textOf(columns['ap_mac']),
    description: textOf(columns['description'] ?? columns['summary']),
  };
}

const textOf = (value: StoredEvent['columns'][string] | undefined) =>
  typeof value === 'string' ? value : null;

/** The envelope of an event, by the column names and in the order that all event tables share. */
export function envelopeColumns(event: Omit<StoredEvent, 'payload'>) {
  return {
    id: event.id,
    event_id: event.eventId,
    delivery_id: event.deliveryId,
    source: event.source,
    message_type: event.messageType,
    occurred_at: event.occurredAt,
    received_at: event.receivedAt,
    owner_id: event.ownerId,
    org_id: event.orgId,
    origin: event.origin,
  };
}

/** The columns of the view `events`, by name and in order, without the payload, which comes last. */
export function viewColumns(event: Omit<StoredEvent, 'payload'>): Readonly<Record<string, string | null>> {
  const { user, code, clientMac, apMac, description } = viewEvent(event);
  return {
    ...envelopeColumns(event),
    family: event.family,
    user_name: user,
    code,
    client_mac: clientMac,
    ap_mac: apMac,
    description,
  };
}
