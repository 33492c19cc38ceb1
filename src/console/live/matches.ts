import type { EventFilter } from '../../store/event-filter.ts';
import { viewEvent } from '../../store/stored-event.ts';
import type { StoredEvent } from '../../store/stored-event.ts';

/** The conditions that events are watched by; all of them hold without asking the database. */
export type WatchFilter = Pick<EventFilter, 'messageTypes' | 'source' | 'user' | 'mac' | 'text'>;

/** Whether an event meets every condition, as the database would say; a MAC address is in the notation of events. */
export function matches(
  event: StoredEvent,
  { messageTypes = [], source, user, mac, text }: WatchFilter,
): boolean {
  if (messageTypes.length > 0 && !messageTypes.includes(event.messageType)) return false;
  if (source !== undefined && event.source !== source) return false;
  if (user === undefined && mac === undefined && text === undefined) return true;
  const view = viewEvent(event);
  if (user !== undefined && view.user !== user) return false;
  if (mac !== undefined && view.clientMac !== mac && view.apMac !== mac) return false;
  return text === undefined || spacedJson(event.payload).toLowerCase().includes(text.toLowerCase());
}

/** JSON as Postgres prints it, with a space behind each colon and comma: what a search by text looks in. */
function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}: ${spacedJson(inner)}`,
  );
  return `{${members.join(', ')}}`;
}
