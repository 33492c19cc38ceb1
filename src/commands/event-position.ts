import { validate as isUuid } from 'uuid';
import type { EventPosition } from '../store/search-events.ts';

/** Reads the position of an event as `events search` prints it behind `--after`. Undefined when it is nothing of the kind. */
export function parsePosition(text: string): EventPosition | undefined {
  const [time = '', eventId = '', ...others] = text.split(',');
  const occurredAt = new Date(time);
  const isTime = !Number.isNaN(occurredAt.getTime()) && occurredAt.toISOString() === time;
  return isTime && isUuid(eventId) && others.length === 0 ? { occurredAt, eventId } : undefined;
}
