import { updateCoverage, type ComparedQuarter } from '../store/reconcile/coverage.ts';
import type { CoverageDoubt } from '../store/server/schema/cloud-tables.ts';
import type { Db } from '../store/server/database.ts';
import { QUARTER_MS, type ComparedRange, type ComparedQuarter as CountedQuarter } from './compare-history.ts';
import { historyOf, type LoggedType } from './log-kinds.ts';
import { LATENESS_MS, quarterOf } from './schedule.ts';

/** The clock of the cloud may be behind, and events of the last minutes are still on their way. */
const SETTLE_MS = 5 * 60 * 1000;

/** Where the retention of a log is not published, an older quarter without log records proves nothing: the shortest known. */
const ASSUMED_REACH_MS = 7 * 24 * 60 * 60 * 1000;

/** What a comparison found in a quarter of an hour, by the time of the log record, or else of the stored event. */
export type FoundQuarter = Omit<CountedQuarter, 'ambiguous' | 'unstored'>;

/** Records comparisons whose missing events were fetched. */
export const recordCoverage =
  (db: Db) =>
  async (
    source: string,
    messageType: LoggedType,
    found: readonly FoundQuarter[],
    range: ComparedRange,
  ): Promise<void> => {
    const { reachMs } = historyOf(messageType);
    const from = new Date(quarterOf(range.from.getTime()));
    await updateCoverage(db, { source, messageType, from, to: range.to }, (before) =>
      judgeRange(before, found, range, reachMs),
    );
  };

/**
 * The quarters of a comparison as they are to be written. Quarters without events agree as well. Of a quarter that is only
 * in part in the range, what was fetched counts, and nothing else.
 */
export function judgeRange(
  before: readonly ComparedQuarter[],
  found: readonly FoundQuarter[],
  { from, to, at }: ComparedRange,
  reachMs: number | undefined,
): ComparedQuarter[] {
  const known = new Map(before.map((one) => [one.quarter.getTime(), one]));
  const counted = new Map(found.map((one) => [one.quarter.getTime(), one]));
  const judged: ComparedQuarter[] = [];
  for (let start = quarterOf(from.getTime()); start < to.getTime(); start += QUARTER_MS) {
    const last = known.get(start);
    const now = counted.get(start) ?? { quarter: new Date(start), matched: 0, onlyWebhook: 0, onlyLog: 0 };
    const isPart = start < from.getTime() || start + QUARTER_MS > to.getTime();
    const next = isPart ? withFetched(last, now, at) : judgeQuarter(last, now, at, reachMs);
    if (next !== undefined && !isSame(last, next)) judged.push(next);
  }
  return judged;
}

/** A quarter of which a part was compared; undefined if nothing was missing there. */
function withFetched(
  before: ComparedQuarter | undefined,
  { onlyLog, doubt, ...found }: FoundQuarter,
  at: Date,
): ComparedQuarter | undefined {
  if (onlyLog === 0 && doubt !== 'record not stored') return undefined;
  const { state = 'pending', reason = null } = before ?? {};
  const { quarter, matched, onlyWebhook } = before ?? found;
  const compared = { quarter, matched, onlyWebhook, comparedAt: at, agreedAt: null };
  const healed = (before?.healed ?? 0) + onlyLog;
  if (!isProven(before)) return { ...compared, healed, state, reason };
  return { ...compared, healed, ...judged(doubt ?? null, 'healed') };
}

const isProven = (before: ComparedQuarter | undefined) =>
  before?.state === 'whole' || before?.state === 'healed';

/** The state if nothing is in doubt. */
const judged = (reason: CoverageDoubt | null, state: 'whole' | 'healed') =>
  reason === null ? { state, reason } : ({ state: 'not comparable', reason } as const);

/**
 * The state of a quarter after a comparison. It is whole after two comparisons, a lag apart, between which none found a
 * difference. It is healed when missing events were fetched, and log records cannot be late any more. Stored events without
 * a log record are a difference as long as the record may be late; afterwards the log may have lost it. A comparison in
 * doubt proves nothing: a quarter whose records cannot be late any more is not comparable, until another comparison
 * proves it. What is proven stays so, unless more is missing. A quarter that the log may no longer reach back to stays as it
 * was, except that missing events that were found heal it.
 */
export function judgeQuarter(
  before: ComparedQuarter | undefined,
  { quarter, matched, onlyWebhook, onlyLog, doubt }: FoundQuarter,
  at: Date,
  reachMs = ASSUMED_REACH_MS,
): ComparedQuarter {
  const age = at.getTime() - quarter.getTime();
  const isOver = age >= QUARTER_MS + SETTLE_MS;
  const isComplete = age >= QUARTER_MS + SETTLE_MS + LATENESS_MS;
  const isMissing = onlyLog > 0 || doubt === 'record not stored';
  if (age > reachMs && !isMissing && before !== undefined) return { ...before, comparedAt: at };
  const healed = (before?.healed ?? 0) + onlyLog;
  // What a silent log listed was all of it, but that alone is no proof.
  const isRead = doubt === undefined || doubt === 'silent log';
  const agrees = isOver && age <= reachMs && (onlyWebhook === 0 || isComplete);
  const agreedAt = isMissing || (isRead && !agrees) ? null : (before?.agreedAt ?? (isRead ? at : null));
  const compared = { quarter, healed, matched, onlyWebhook, comparedAt: at, agreedAt };
  if (isProven(before) && before !== undefined && !isMissing)
    return { ...compared, state: before.state, reason: null };
  const hasAgreed = agreedAt !== null && at.getTime() - agreedAt.getTime() >= LATENESS_MS;
  if (healed > 0 && isComplete) return { ...compared, ...judged(doubt ?? null, 'healed') };
  if (doubt === undefined && hasAgreed) return { ...compared, state: 'whole', reason: null };
  if (doubt !== undefined && isComplete) return { ...compared, state: 'not comparable', reason: doubt };
  const { state = 'pending', reason = null } = before ?? {};
  return { ...compared, state, reason };
}

const isSame = (a: ComparedQuarter | undefined, b: ComparedQuarter) =>
  a?.state === b.state &&
  a.reason === b.reason &&
  a.healed === b.healed &&
  a.matched === b.matched &&
  a.onlyWebhook === b.onlyWebhook &&
  a.agreedAt?.getTime() === b.agreedAt?.getTime();
