import type { Db } from '../store/database.ts';
import { readArrivalHours, readLastArrivals } from '../store/read-arrivals.ts';
import { HISTORY_MS, learnRhythm } from './rhythm.ts';
import type { Rhythm } from './rhythm.ts';
import type { Gap } from './rates-of-week.ts';
import { judgeSilence } from './silence.ts';
import type { TypeSilence } from './silence.ts';

/** Rhythms by source and message type, of those whose history is long enough. */
export type Rhythms = ReadonlyMap<string, Rhythm>;

interface Named {
  readonly source: string;
  readonly messageType: string;
}

const keyOf = ({ source, messageType }: Named) => `${messageType} ${source}`;

/** Learns what is usual from the arrivals of the last 56 days: 28 up to the last arrival, which may be 28 days ago. */
export async function learnRhythms(db: Db, now: Date): Promise<Rhythms> {
  const rhythms = new Map<string, Rhythm>();
  const hours = await readArrivalHours(db, new Date(now.getTime() - 2 * HISTORY_MS));
  const lastArrivals = await readLastArrivals(db);
  const byType = Map.groupBy(hours, keyOf);
  for (const arrival of lastArrivals) {
    if (arrival.lastReceivedAt === undefined) continue;
    const rhythm = learnRhythm(byType.get(keyOf(arrival)) ?? [], arrival.lastReceivedAt.getTime());
    if (rhythm !== undefined) rhythms.set(keyOf(arrival), rhythm);
  }
  return rhythms;
}

/**
 * Judges the present silence of every source and message type that ever arrived or has an enabled subscription.
 * Rhythms that were learnt within the last hours may be given: to learn them takes a second where much arrives. Of
 * the time `away` nothing is known.
 */
export async function assessSilences(
  db: Db,
  now: Date,
  known: { readonly rhythms?: Rhythms | undefined; readonly away?: Gap | undefined } = {},
): Promise<TypeSilence[]> {
  const rhythms = known.rhythms ?? (await learnRhythms(db, now));
  const lastArrivals = await readLastArrivals(db);
  return lastArrivals.map((arrival) => {
    const last = arrival.lastReceivedAt?.getTime();
    return { ...arrival, ...judgeSilence(rhythms.get(keyOf(arrival)), last, now.getTime(), known.away) };
  });
}
