import { validate as isUuid } from 'uuid';

/** The text of an event's position in pages, for `events search --after` and the console's cursors. */
export function formatPosition(event: { readonly occurredAt: string; readonly eventId: string }): string {
  return `${event.occurredAt},${event.eventId}`;
}

/** Parses the text that `formatPosition` returns. Undefined when the text is not a position. */
export function parsePosition(text: string) {
  const [time = '', eventId = '', ...others] = text.split(',');
  const occurredAt = new Date(time);
  const isTime = !Number.isNaN(occurredAt.getTime()) && occurredAt.toISOString() === time;
  return isTime && isUuid(eventId) && others.length === 0 ? { occurredAt, eventId } : undefined;
}
