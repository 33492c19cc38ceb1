import { randomUUID } from 'node:crypto';
import type { Destination } from './parse-destinations.ts';
import { sendBisecting } from './send-bisecting.ts';
import type { Sender } from './sender.ts';
import type { StoredEvent } from './stored-event.ts';
import type { Db } from '../store/database.ts';
import { markReplayed } from '../store/rejected-events.ts';
import type { Rejected } from '../store/rejected-events.ts';
import { findEvent } from '../store/search-events.ts';

/** What came of a test event. */
export interface TestSent {
  readonly eventId: string;
  /** Why the destination refuses it; undefined when it has taken it. */
  readonly refusal: string | undefined;
}

/**
 * Sends one event that says that it is a test; `onText` is told its text before. Throws what the sender throws when
 * the destination cannot be reached.
 */
export async function sendTest(destination: Destination, onText: (text: string) => void): Promise<TestSent> {
  const event = testEvent(new Date().toISOString());
  onText(destination.format(event));
  const refusal = await withSender(destination, (sender) => send(sender, destination, event));
  return { eventId: event.eventId, refusal };
}

/** An audit record that nobody can take for a real one. */
function testEvent(now: string): StoredEvent {
  const description = 'TEST EVENT of xiq-sink: nothing has happened';
  return {
    xid: '0',
    id: '0',
    eventId: randomUUID(),
    deliveryId: randomUUID(),
    source: 'xiq-sink-test',
    messageType: 'AUDIT_LOG_ALL',
    family: 'audit',
    occurredAt: now,
    receivedAt: now,
    ownerId: null,
    orgId: null,
    origin: 'webhook',
    columns: { user_name: 'xiq-sink-test', description },
    payload: { userName: 'xiq-sink-test', description },
  };
}

/** What came of sending a refused event again; without a reason the destination has taken it. */
export interface Resent {
  readonly eventId: string;
  readonly reason: string | undefined;
}

/**
 * Sends events again that a destination has refused, one by one as the results are asked for. Each that it takes now
 * is marked. Throws what the sender throws: the rest stays as it was.
 */
export async function* resendRejected(
  db: Db,
  destination: Destination,
  rejected: AsyncIterable<Rejected> | Iterable<Rejected>,
): AsyncGenerator<Resent> {
  const sender = destination.createSender();
  try {
    for await (const one of rejected) {
      yield { eventId: one.event_id, reason: await resend(db, destination, sender, one) };
    }
  } finally {
    await sender.close();
  }
}

/** Why the event was not sent; undefined when it was. */
async function resend(
  db: Db,
  destination: Destination,
  sender: Sender,
  rejected: Rejected,
): Promise<string | undefined> {
  const { message_type: messageType, occurred_at: occurredAt, event_id: eventId } = rejected;
  const event = await findEvent(db, eventId, occurredAt, messageType);
  if (event === undefined) return 'it is no longer stored: retention has dropped it';
  const reason = await send(sender, destination, event);
  if (reason === undefined) await markReplayed(db, destination.name, eventId);
  return reason;
}

/** Why the destination refuses the event; undefined when it has taken it. */
async function send(
  sender: Sender,
  { format }: Destination,
  event: StoredEvent,
): Promise<string | undefined> {
  const [refused] = await sendBisecting(sender, [{ event, text: format(event) }]);
  return refused?.reason;
}

async function withSender<T>(destination: Destination, work: (sender: Sender) => Promise<T>): Promise<T> {
  const sender = destination.createSender();
  try {
    return await work(sender);
  } finally {
    await sender.close();
  }
}
