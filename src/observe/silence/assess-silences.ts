import type { Db } from '../../store/server/database.ts';
import { readArrivalHours, readLastArrivals, type LastArrival } from '../../store/counts/read-arrivals.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { HISTORY_MS, learnPattern, type ArrivalPattern } from './arrival-pattern.ts';
import type { QuietPeriod } from './weekly-rates.ts';
import { judgeSilence, type TypeSilence } from './silence.ts';

/** Patterns by source and message type, for those with enough history. */
export type ArrivalPatterns = ReadonlyMap<string, ArrivalPattern>;

const keyOf = ({ source, messageType }: Pick<LastArrival, 'source' | 'messageType'>) =>
  `${messageType} ${source}`;

/**
 * Learns the usual pattern of each source and message type from the arrivals of the last 56 days: each pattern needs the
 * 28 days before the last arrival, which may be 28 days ago.
 */
export async function learnPatterns(db: Db, now: Date): Promise<ArrivalPatterns> {
  const patterns = new Map<string, ArrivalPattern>();
  const hours = await readArrivalHours(db, ALL_SOURCES, new Date(now.getTime() - 2 * HISTORY_MS));
  const lastArrivals = await readLastArrivals(db, ALL_SOURCES);
  const byType = Map.groupBy(hours, keyOf);
  for (const arrival of lastArrivals) {
    if (arrival.lastReceivedAt === undefined) continue;
    const pattern = learnPattern(byType.get(keyOf(arrival)) ?? [], arrival.lastReceivedAt.getTime());
    if (pattern !== undefined) patterns.set(keyOf(arrival), pattern);
  }
  return patterns;
}

/**
 * Judges the current silence of every source and message type that has ever arrived or has an enabled subscription.
 * Pass patterns learned within the last hours: learning them takes a second in a busy installation. The time `away` does
 * not count.
 */
export async function assessSilences(
  db: Db,
  now: Date,
  known: { readonly patterns?: ArrivalPatterns | undefined; readonly away?: QuietPeriod | undefined } = {},
): Promise<TypeSilence[]> {
  const patterns = known.patterns ?? (await learnPatterns(db, now));
  const lastArrivals = await readLastArrivals(db, ALL_SOURCES);
  return lastArrivals.map((arrival) => {
    const last = arrival.lastReceivedAt?.getTime();
    return { ...arrival, ...judgeSilence(patterns.get(keyOf(arrival)), last, now.getTime(), known.away) };
  });
}
