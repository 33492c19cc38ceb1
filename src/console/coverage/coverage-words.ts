import type { CoverageState } from '../../store/server/schema/cloud-tables.ts';

/** What pages call the states of coverage; docs/coverage.md says what each means. */
export const COVERAGE_WORDS: Readonly<Record<CoverageState, string>> = {
  whole: 'complete',
  healed: 'recovered',
  'push only': 'not checkable',
  'not comparable': 'not comparable',
  unrecoverable: 'lost',
  pending: 'pending',
};
