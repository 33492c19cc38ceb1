import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { onTestFinished } from 'vitest';
import type { Message, Sender } from '../../../src/forward/sender.ts';
import { syslogMessage } from '../../../src/forward/senders/syslog.ts';

/** A stored event with a number of its own. */
export function storedEvent(number: number, description = `event ${number}`): StoredEvent {
  return {
    id: String(number),
    eventId: `00000000-0000-8000-8000-${String(number).padStart(12, '0')}`,
    deliveryId: '00000000-0000-7000-8000-000000000000',
    source: 'default',
    messageType: 'AUDIT_LOG_ALL',
    family: 'audit',
    occurredAt: '2026-05-04T03:02:01.123Z',
    receivedAt: '2026-05-04T03:02:02.000Z',
    ownerId: '1',
    orgId: null,
    origin: 'webhook',
    columns: { code: '10001', description },
    payload: { code: 10001, description },
  };
}

/** An event as one line of JSON. */
function jsonLine({ eventId, columns }: StoredEvent): string {
  return JSON.stringify({ event_id: eventId, description: columns['description'] });
}

/** A message whose text is a line of JSON. */
export function message(number: number, description?: string): Message {
  const event = storedEvent(number, description);
  return { event, text: jsonLine(event) };
}

export const messages = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => message(from + index));

/** What the syslog messages of tests have before their text. */
export const SYSLOG_HEADER = {
  header: 'rfc5424',
  facility: 'local0',
  severity: 'info',
  hostname: 'sink.test',
  enterprise_number: 32_473,
} as const;

export const syslogTexts = (batch: readonly Message[]) =>
  batch.map((one) => syslogMessage(one, SYSLOG_HEADER));

/** A sender that is closed behind the test. */
export function untilTestEnds(sender: Sender): Sender {
  onTestFinished(() => sender.close());
  return sender;
}
