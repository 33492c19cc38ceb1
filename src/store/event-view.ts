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
