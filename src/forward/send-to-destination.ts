import { randomUUID } from 'node:crypto';
import type { Destination } from './parse-destinations.ts';
import { sendBisecting } from './send-batch.ts';
import type { Sender } from './sender.ts';
import type { StoredEvent } from '../events/stored-event.ts';
import type { Db } from '../store/server/database.ts';
import { markReplayed, type Rejected } from '../store/destinations/rejected-events.ts';
import { findEvent } from '../store/events/search-events.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';

/**
 * Sends one event that is marked as a test. `onText` receives its text before it is sent. Throws the sender's error if
 * the destination can't be reached. `refusal` is why the destination rejected it; undefined if it accepted it.
 */
export async function sendTest(
  destination: Destination,
  onText: (text: string) => void,
): Promise<{ readonly eventId: string; readonly refusal: string | undefined }> {
  const event = testEvent(new Date().toISOString());
  onText(destination.format(event));
  const refusal = await withSender(destination, (sender) => sendOne(sender, destination, event));
  return { eventId: event.eventId, refusal };
}

/** The code and the type of a test event, by which a rule of the receiver can recognize it in every format. */
const TEST_CODE = 'XIQ-SINK-TEST';

/**
 * An event that can't be mistaken for a real one. Rules on logins, configuration changes and the like do not match it: it
 * is of none of the types that the cloud sends.
 */
function testEvent(now: string): StoredEvent {
  const description = 'TEST EVENT of xiq-sink: nothing happened';
  return {
    id: '0',
    eventId: randomUUID(),
    deliveryId: randomUUID(),
    source: 'xiq-sink-test',
    messageType: 'OTHER',
    family: 'other',
    occurredAt: now,
    receivedAt: now,
    ownerId: null,
    orgId: null,
    origin: 'webhook',
    columns: { sent_type: TEST_CODE, code: TEST_CODE, description },
    payload: { code: TEST_CODE, description },
  };
}

/**
 * Resends events that a destination rejected, one for each result that the caller requests, and marks those that it
 * accepts now. `reason` is why it was not sent. Throws the sender's error if the destination can't be reached; the remaining events stay unchanged.
 */
export async function* resendRejected(
  db: Db,
  destination: Destination,
  rejected: AsyncIterable<Rejected> | Iterable<Rejected>,
): AsyncGenerator<{ readonly eventId: string; readonly reason: string | undefined }> {
  const sender = destination.createSender();
  try {
    for await (const one of rejected) {
      yield { eventId: one.event_id, reason: await resendOne(db, destination, sender, one) };
    }
  } finally {
    await sender.close();
  }
}

async function resendOne(db: Db, destination: Destination, sender: Sender, rejected: Rejected) {
  const { message_type: messageType, occurred_at: occurredAt, event_id: eventId } = rejected;
  const event = await findEvent(db, ALL_SOURCES, eventId, occurredAt, messageType);
  if (event === undefined)
    return 'the event is no longer in the database: its retention period is over, or its month is archived';
  const reason = await sendOne(sender, destination, event);
  if (reason === undefined) await markReplayed(db, destination.name, eventId);
  return reason;
}

async function sendOne(sender: Sender, { format }: Destination, event: StoredEvent) {
  const { rejected } = await sendBisecting(sender, [{ event, text: format(event) }]);
  return rejected[0]?.reason;
}

/** Does work with a sender of a destination, which is closed after it. */
export async function withSender<T>(
  destination: Pick<Destination, 'createSender'>,
  work: (sender: Sender) => Promise<T>,
): Promise<T> {
  const sender = destination.createSender();
  try {
    return await work(sender);
  } finally {
    await sender.close();
  }
}
