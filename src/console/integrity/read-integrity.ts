import type { MonthRange } from '../../lib/text/parse-time.ts';
import type { Db } from '../../store/server/database.ts';
import { readArrivals, type Arrival } from '../../store/counts/read-arrivals.ts';
import { positionsSince } from '../../store/log/read-log.ts';
import { readDroppedMonths, type DroppedEvents } from '../../store/seal/excuses.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import {
  chunksWithDifferences,
  readSealedRanges,
  readSealFacts,
  type SealedRange,
} from '../../store/seal/verifications.ts';
import { toAnswer } from '../api/route.ts';
import type { VerifyFinding } from '../../seal/verify/finding.ts';
import { findDifferences } from '../../seal/verify/verify-in-turn.ts';
import { describeFinding, type Day, type Integrity } from './integrity-schemas.ts';
import { DAY_MS } from '../../lib/clock.ts';

/** Chunks are compared again to name their rows, one after the other until then; `verify` names all. */
const NAMING_MS = 1_000;
const FINDINGS = 100;

/** Reads the seal, and the days of a month. */
export async function readIntegrity(db: Db, month: MonthRange): Promise<Integrity> {
  const { checkpoint, waiting, verified, anchors } = await readSealFacts(db);
  const { leaves, altered, missing, since } = verified;
  const differences: VerifyFinding[] = [];
  const named: number[] = [];
  const end = performance.now() + NAMING_MS;
  for (const chunk of await chunksWithDifferences(db)) {
    if (performance.now() > end) break;
    differences.push(...(await findDifferences(db, chunk)));
    named.push(chunk);
  }
  return {
    checkpoint: checkpoint === undefined ? null : toAnswer(checkpoint),
    not_sealed_yet: waiting,
    verified: toAnswer({ leaves, altered, missing, since }),
    anchors: anchors.map((one) => ({ ...toAnswer(one), name: one.anchor })),
    days: await readDays(db, month, differences, named),
    differences: differences.slice(0, FINDINGS).map(describeFinding),
  };
}

async function readDays(
  db: Db,
  { since, until }: MonthRange,
  differences: readonly VerifyFinding[],
  named: readonly number[],
): Promise<Day[]> {
  const last = Math.min(until.getTime(), Date.now());
  const starts: Date[] = [];
  for (let at = since.getTime(); at < last; at += DAY_MS) starts.push(new Date(at));
  if (starts.length === 0) return [];
  const bounds = await positionsSince(db, [...starts, new Date(since.getTime() + starts.length * DAY_MS)]);
  const ranges = await readSealedRanges(
    db,
    starts.map((_, index) => ({ from: bounds[index] ?? 0, to: bounds[index + 1] ?? 0 })),
    named,
  );
  const dropped = await readDroppedMonths(db);
  const arrived = await readArrivals(db, ALL_SOURCES, { since, until, bucketSeconds: DAY_MS / 1000 });
  return ranges.map((range, index) => {
    const start = starts[index] ?? since;
    const ofDay = differences.filter(
      ({ position }) => position !== undefined && position >= range.from && position < range.to,
    );
    const count = (state: string) => ofDay.filter((one) => one.state === state).length;
    const [altered, missing] = [range.altered + count('ALTERED'), range.missing + count('MISSING')];
    return describeDay(start, { ...range, altered, missing }, expiredOn(start, arrived, dropped));
  });
}

/** Events of a day whose month retention has dropped, by the counts of arrivals. */
function expiredOn(day: Date, arrived: readonly Arrival[], dropped: readonly DroppedEvents[]): number {
  return arrived
    .filter(
      ({ bucket, messageType }) =>
        bucket.getTime() === day.getTime() &&
        dropped.some(
          (one) => !one.isThere && one.messageType === messageType && one.from <= day && day < one.to,
        ),
    )
    .reduce((sum, { events }) => sum + events, 0);
}

/** The day with the worst of its states. */
export function describeDay(
  start: Date,
  { from, to, sealed, erased, compared, comparedSince, altered, missing }: SealedRange,
  expired: number,
): Day {
  const events = to - from;
  const states = [
    ['missing', missing],
    ['altered', altered],
    ['not sealed yet', events - sealed],
    ['not compared yet', sealed - compared],
    ['expired', expired],
    ['erased', erased],
    ['intact', events],
  ] as const;
  const [word, count] = states.find((state) => state[1] > 0) ?? [null, null];
  return { day: start.toISOString().slice(0, 10), events, word, count, compared_since: comparedSince };
}
