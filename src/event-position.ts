import { validate as isUuid } from 'uuid';

/** The text of an event's place in pages, as `events search --after` and the console's cursors have it. */
export function formatPosition(event: { readonly occurredAt: string; readonly eventId: string }): string {
  return `${event.occurredAt},${event.eventId}`;
}

/** Reads what `formatPosition` wrote. Undefined when it is nothing of the kind. */
export function parsePosition(
  text: string,
): { readonly occurredAt: Date; readonly eventId: string } | undefined {
  const [time = '', eventId = '', ...others] = text.split(',');
  const occurredAt = new Date(time);
  const isTime = !Number.isNaN(occurredAt.getTime()) && occurredAt.toISOString() === time;
  return isTime && isUuid(eventId) && others.length === 0 ? { occurredAt, eventId } : undefined;
}
