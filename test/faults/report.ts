import { formatTable } from '../../src/commands/shared/output.ts';
import { countRefused } from './ledger.ts';
import type { Measured, Row } from './row.ts';

const COLUMNS: Readonly<Record<string, (measured: Measured) => string>> = {
  sent: ({ sent }) => whole(sent),
  '2xx': ({ acknowledged }) => whole(acknowledged),
  '400 kept': ({ quarantined }) => whole(quarantined),
  refused: (measured) => whole(countRefused(measured)),
  unanswered: ({ unanswered }) => whole(unanswered),
  found: ({ found }) => whole(found),
  lost: ({ lost }) => whole(lost),
  doubled: ({ doubled }) => whole(doubled),
  sealed: ({ seal }) => whole(seal.intact),
  'silence s': ({ silenceMs }) => (silenceMs / 1_000).toFixed(1),
  'p99 ms': ({ p99Ms }) => p99Ms.toFixed(0),
};

/** All rows, one a line. */
export function formatRows(rows: readonly Row[]): string {
  const width = Math.max(...Object.keys(COLUMNS).map((name) => name.length));
  return formatTable(
    ['set-up', 'fault', ...Object.keys(COLUMNS).map((name) => name.padStart(width)), 'verdict'],
    rows.map((row) => [row.setUp, row.fault, ...numbersOf(row, width), describeVerdict(row)]),
  );
}

const numbersOf = ({ measured }: Row, width: number) =>
  Object.values(COLUMNS).map((format) => (measured === undefined ? '' : format(measured)).padStart(width));

/** The verdict, and why. */
export const describeVerdict = ({ verdict, remark }: Row): string =>
  remark === '' ? verdict : `${verdict}: ${remark}`;

/** What all rows come to, in one line. */
export function formatTotal(rows: readonly Row[]): string {
  const measured = rows.flatMap((row) => (row.measured === undefined ? [] : [row.measured]));
  const sum = (count: (one: Measured) => number) =>
    whole(measured.reduce((total, one) => total + count(one), 0));
  const failed = rows.filter(({ verdict }) => verdict === 'FAILED').length;
  return (
    `${rows.length} rows, ${sum(({ sent }) => sent)} deliveries sent, ${sum(({ found }) => found)} found, ` +
    `${sum(({ lost }) => lost)} lost, ${sum(({ doubled }) => doubled)} doubled; ${failed} rows failed`
  );
}

const whole = (value: number) => value.toLocaleString('en');
