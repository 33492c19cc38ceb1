import { readCoverageByDay, type CoverageFilter, type DayCoverage } from '../../store/reconcile/coverage.ts';
import type { Db } from '../../store/server/database.ts';
import { listGaps, type MissingPeriod } from '../../store/reconcile/gaps.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { note, print, printRows, type Columns } from '../shared/output.ts';

const DAY_COLUMNS: Columns<DayCoverage> = {
  day: ({ day }) => day,
  source: ({ source }) => source,
  type: ({ message_type: type }) => type,
  whole: ({ whole }) => String(whole),
  healed: ({ healed }) => String(healed),
  'push only': ({ push_only: pushOnly }) => String(pushOnly),
  'not comparable': ({ not_comparable: notComparable }) => String(notComparable),
  unrecoverable: ({ unrecoverable }) => String(unrecoverable),
  pending: ({ pending }) => String(pending),
  'events fetched': ({ healed_events: events }) => String(events),
  reasons: ({ reasons }) => reasons.join(', '),
};

const GAP_COLUMNS: Columns<MissingPeriod> = {
  began: ({ began_at: began }) => began.toISOString(),
  ended: ({ ended_at: ended }) => ended?.toISOString() ?? 'persists',
  source: ({ source }) => source ?? 'all',
  type: ({ message_type: type }) => type ?? 'all',
  reason: ({ reason }) => reason,
  details: ({ detail }) => (Object.keys(detail).length === 0 ? '' : JSON.stringify(detail)),
};

/**
 * Prints the quarters of an hour by day and state, then the gaps in the range, as two tables or as JSON lines. Resolves
 * with whether everything with a history is proven.
 */
export async function printCoverage(db: Db, filter: CoverageFilter, asJson: boolean): Promise<boolean> {
  const days = await readCoverageByDay(db, ALL_SOURCES, filter);
  const gaps = await listGaps(db, ALL_SOURCES, filter);
  await printRows(days, DAY_COLUMNS, asJson);
  if (days.length === 0) {
    note(
      'No source was configured in this range. A quarter of an hour is proven about 8 hours after its end (--until).',
    );
  }
  if (gaps.length > 0 && !asJson) print('\nPeriods in which events may have been missed:');
  await printRows(gaps, GAP_COLUMNS, asJson);
  return days.every((day) => day.pending + day.unrecoverable + day.not_comparable === 0);
}
