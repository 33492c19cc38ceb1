import { formatTable } from '../../src/commands/shared/output.ts';
import { countRefused } from '../faults/ledger.ts';
import type { Measured, Row } from './run-scenario.ts';

const COLUMNS: Readonly<Record<string, (measured: Measured) => string>> = {
  sent: ({ sent }) => whole(sent),
  '2xx': ({ acknowledged }) => whole(acknowledged),
  '400 kept': ({ quarantined }) => whole(quarantined),
  refused: (measured) => whole(countRefused(measured)),
  unanswered: ({ unanswered }) => whole(unanswered),
  lost: ({ lost }) => whole(lost),
  doubled: ({ doubled }) => whole(doubled),
  wrong: ({ wrong }) => whole(wrong),
  stuck: ({ stuck }) => whole(stuck),
  'silence s': ({ silenceMs }) => (silenceMs / 1_000).toFixed(1),
  'p99 ms': ({ p99Ms }) => p99Ms.toFixed(0),
};

/** All rows, one a line. */
export function formatRows(rows: readonly Row[]): string {
  const width = Math.max(...Object.keys(COLUMNS).map((name) => name.length));
  return formatTable(
    ['scenario', ...Object.keys(COLUMNS).map((name) => name.padStart(width)), 'verdict'],
    rows.map((row) => [
      row.scenario,
      ...Object.values(COLUMNS).map((format) =>
        (row.measured === undefined ? '' : format(row.measured)).padStart(width),
      ),
      describeVerdict(row),
    ]),
  );
}

/** The same as a table of Markdown, for docs/running.md. */
export function markdownRows(rows: readonly Row[]): string {
  const names = Object.keys(COLUMNS);
  const cells = rows.map((row) => [
    row.scenario,
    ...Object.values(COLUMNS).map((format) => (row.measured === undefined ? '' : format(row.measured))),
    describeVerdict(row).replaceAll('|', '\\|'),
  ]);
  const lines = [['scenario', ...names, 'verdict'], ['---', ...names.map(() => '---:'), '---'], ...cells];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** The verdict, and why. */
export function describeVerdict({ isGood, remark }: Row): string {
  const verdict = isGood ? 'ok' : 'FAILED';
  return remark === '' ? verdict : `${verdict}: ${remark}`;
}

const whole = (value: number) => value.toLocaleString('en');
