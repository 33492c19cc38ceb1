import { updateCoverage, type ComparedQuarter } from '../store/reconcile/coverage.ts';
import type { Db } from '../store/server/database.ts';
import { QUARTER_MS, type ComparedRange, type ComparedQuarter as CountedQuarter } from './compare-history.ts';
import { historyOf, type LoggedType } from './log-kinds.ts';
import { LATENESS_MS, quarterOf } from './schedule.ts';

/** The clock of the cloud may be behind, and events of the last minutes are still on their way. */
const SETTLE_MS = 5 * 60 * 1000;

/** Where the retention of a log is not published, an older quarter without log records proves nothing: the shortest known. */
const ASSUMED_REACH_MS = 7 * 24 * 60 * 60 * 1000;

/** What a comparison found in a quarter of an hour, by the time of the log record, or else of the stored event. */
export type FoundQuarter = Omit<CountedQuarter, 'ambiguous'>;

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
  { onlyLog, ...found }: FoundQuarter,
  at: Date,
): ComparedQuarter | undefined {
  if (onlyLog === 0) return undefined;
  const state = before === undefined || before.state === 'pending' ? 'pending' : 'healed';
  const { quarter, matched, onlyWebhook } = before ?? found;
  const healed = (before?.healed ?? 0) + onlyLog;
  return { quarter, matched, onlyWebhook, healed, state, comparedAt: at, agreedAt: null };
}

/**
 * The state of a quarter after a comparison. It is whole after two comparisons, a lag apart, between which none found a
 * difference. It is healed when missing events were fetched, and log records cannot be late any more. Stored events without
 * a log record are a difference as long as the record may be late; afterwards the log may have lost it. A quarter that the
 * log may no longer reach back to stays as it was, except that missing events that were found heal it.
 */
export function judgeQuarter(
  before: ComparedQuarter | undefined,
  { quarter, matched, onlyWebhook, onlyLog }: FoundQuarter,
  at: Date,
  reachMs = ASSUMED_REACH_MS,
): ComparedQuarter {
  const age = at.getTime() - quarter.getTime();
  const isOver = age >= QUARTER_MS + SETTLE_MS;
  const isComplete = age >= QUARTER_MS + SETTLE_MS + LATENESS_MS;
  const healed = (before?.healed ?? 0) + onlyLog;
  const agrees = isOver && age <= reachMs && onlyLog === 0 && (onlyWebhook === 0 || isComplete);
  const agreedAt = agrees ? (before?.agreedAt ?? at) : null;
  const isProven = agreedAt !== null && at.getTime() - agreedAt.getTime() >= LATENESS_MS;
  const compared = { quarter, healed, matched, onlyWebhook, comparedAt: at };
  if (age > reachMs && onlyLog === 0 && before !== undefined) return { ...before, comparedAt: at };
  if (healed > 0) return { ...compared, agreedAt, state: isComplete ? 'healed' : 'pending' };
  return { ...compared, agreedAt, state: isProven ? 'whole' : 'pending' };
}

const isSame = (a: ComparedQuarter | undefined, b: ComparedQuarter) =>
  a?.state === b.state &&
  a.healed === b.healed &&
  a.matched === b.matched &&
  a.onlyWebhook === b.onlyWebhook &&
  a.agreedAt?.getTime() === b.agreedAt?.getTime();
