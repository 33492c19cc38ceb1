import type { StoredEvent } from '../../store/stored-event.ts';

/** Events that say the same, one soon after the other, in the order of a list. */
export type Burst<Event> = readonly [Event, ...Event[]];

type Timed = Pick<StoredEvent, 'occurredAt'>;

/** Two equal events with a longer time between them are not of one burst. Access points report clients every 10 minutes or sooner. */
export const BURST_GAP_MS = 15 * 60_000;

/** Folds neighbours of a list, in order of time either way, for which `saysOf` has the same text. Each event stays in its place. */
export function foldBursts<Event extends Timed>(
  events: readonly Event[],
  saysOf: (event: Event) => string,
): readonly Burst<Event>[] {
  const bursts: [Event, ...Event[]][] = [];
  let last: Event | undefined;
  for (const event of events) {
    const burst = bursts.at(-1);
    if (burst !== undefined && last !== undefined && saysOf(last) === saysOf(event) && isSoon(last, event)) {
      burst.push(event);
    } else bursts.push([event]);
    last = event;
  }
  return bursts;
}

const isSoon = (one: Timed, other: Timed) =>
  Math.abs(Date.parse(one.occurredAt) - Date.parse(other.occurredAt)) <= BURST_GAP_MS;
