import { viewEvent, type StoredEvent } from '../../events/stored-event.ts';

export interface Interval {
  readonly from: Date;
  readonly to: Date;
}

/** A session of a client on a network, from its accounting events. */
export interface Session extends Interval {
  /** False if no event says that it ended: `to` is then the time of its last event. */
  readonly hasEnded: boolean;
  readonly clientMac: string | null;
  readonly apMac: string | null;
  readonly user: string | null;
  readonly ssid: string | null;
}

/**
 * The sessions that accounting events describe, in order of their start. Events with the same session id and client are of one
 * session; one without an id is a session of its own.
 */
export function sessionsOf(events: readonly StoredEvent[]): readonly Session[] {
  const accounting = events
    .filter(({ messageType }) => messageType === 'ACCOUNTING_LOG_ALL')
    .toSorted((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1));
  const byId = Map.groupBy(
    accounting,
    (event) => `${textOf(event.columns['acct_session_id']) ?? event.eventId} ${viewEvent(event).clientMac}`,
  );
  return [...byId.values()].map(sessionOf).toSorted((a, b) => a.from.getTime() - b.from.getTime());
}

function sessionOf(events: readonly StoredEvent[]): Session {
  const starts = events.map(startOf);
  const stops = events.flatMap(stopOf);
  const seen = events.map(({ occurredAt }) => Date.parse(occurredAt));
  const from = Math.min(...starts);
  const to = Math.max(from, ...(stops.length > 0 ? stops : seen));
  const last = events.at(-1);
  const { clientMac, apMac, user } =
    last === undefined ? { clientMac: null, apMac: null, user: null } : viewEvent(last);
  return {
    from: new Date(from),
    to: new Date(to),
    hasEnded: stops.length > 0,
    clientMac,
    apMac,
    user,
    ssid: textOf(last?.columns['ssid']),
  };
}

/** When the session of an accounting event started: as it says, or before as long as it says to have lasted. */
function startOf({ occurredAt, columns }: StoredEvent): number {
  const at = Date.parse(occurredAt);
  const told = Date.parse(textOf(columns['acct_start_time']) ?? '');
  if (!Number.isNaN(told)) return Math.min(told, at);
  return at - Math.max(0, Number(columns['acct_session_time'] ?? 0)) * 1000;
}

/** When it ended, if the event says that it did. */
function stopOf({ occurredAt, columns }: StoredEvent): readonly number[] {
  const told = Date.parse(textOf(columns['acct_stop_time']) ?? '');
  if (!Number.isNaN(told)) return [told];
  return textOf(columns['acct_terminate_cause']) === null ? [] : [Date.parse(occurredAt)];
}

const textOf = (value: StoredEvent['columns'][string] | undefined) =>
  typeof value === 'string' && value !== '' ? value : null;

/** A client that an access point received, or that logged in there. */
interface Sighting {
  readonly occurredAt: Date;
  readonly apMac: string | null;
}

/** A time in which a client was at one access point. */
export interface Stay extends Interval {
  readonly apMac: string | null;
  readonly sightings: number;
}

/** A client that no access point reports for so long may have been away. */
export const AWAY_MS = 30 * 60_000;

/** The stays of a client, in order of time: an access point that is left, or not seen for half an hour, ends one. */
export function staysOf(sightings: readonly Sighting[]): readonly Stay[] {
  const stays: Stay[] = [];
  for (const { occurredAt, apMac } of sightings.toSorted(
    (a, b) => a.occurredAt.getTime() - b.occurredAt.getTime(),
  )) {
    const last = stays.at(-1);
    if (last?.apMac === apMac && occurredAt.getTime() - last.to.getTime() <= AWAY_MS) {
      stays.splice(-1, 1, { ...last, to: occurredAt, sightings: last.sightings + 1 });
    } else stays.push({ apMac, from: occurredAt, to: occurredAt, sightings: 1 });
  }
  return stays;
}
