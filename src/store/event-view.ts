import type { StoredEvent } from './read-events.ts';

/** What the view `events` shows of an event beside its envelope: the columns that more than one family has. */
export interface EventView {
  readonly user: string | null;
  readonly code: string | null;
  readonly clientMac: string | null;
  readonly apMac: string | null;
  readonly description: string | null;
}

/** An event as the view `events` shows it, whatever its type. */
export function viewEvent({ family, columns }: Pick<StoredEvent, 'family' | 'columns'>): EventView {
  return {
    user: textOf(columns[family === 'audit' ? 'user_name' : 'username']),
    code: textOf(columns['code']),
    clientMac: textOf(columns['client_mac']),
    apMac: textOf(columns['ap_mac']),
    description: textOf(columns['description']),
  };
}

const textOf = (value: StoredEvent['columns'][string] | undefined) =>
  typeof value === 'string' ? value : null;

/** The envelope of an event, by the names and in the order of the columns that every table of events begins with. */
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

/** The columns of the view `events`, by their names and in their order, but for the payload, which comes last. */
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
