import type { Family, MessageType, Origin } from '../domain.ts';
import type { JsonObject } from '../exact-json.ts';

/** One stored event as the forwarder reads it: the envelope, the typed columns, the record as sent. */
export interface StoredEvent {
  /** Transaction and sequence number: together the event's place in the order of forwarding. */
  readonly xid: string;
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
  /** The message type's typed columns by name, in the text that Postgres prints; null where the record says nothing. */
  readonly columns: Readonly<Record<string, string | readonly string[] | null>>;
  /** The record as sent, every digit kept (exact-json.ts). */
  readonly payload: JsonObject;
}

/** Writes an event in a SIEM's language: one message, without what frames it on the wire. */
export type Format = (event: StoredEvent) => string;
