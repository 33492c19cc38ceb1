import { formatTable } from '../src/commands/shared/output.ts';
import { countOf, formatCount } from '../src/lib/text/units.ts';
import { median } from './against-base.ts';
import type { Beside } from './beside.ts';
import type { Measurement } from './measure.ts';
import { isWrong } from './report.ts';

const COLUMNS = ['empty', 'full', 'full / empty'];

/** What storing costs beside many events, and what people wait for. */
export function formatBeside(beside: Beside): string {
  const { events, droppedEvents } = beside;
  return (
    `an empty database, and one with ${formatWhole(events)} events\n\n` +
    `${formatStoring(beside)}\n\n${formatWaits(beside)}\n\n` +
    `the dropped month of the full database had ${formatWhole(droppedEvents)} events`
  );
}

/** Medians of the rounds. */
function formatStoring({ storing: { empty, full } }: Beside): string {
  const values: Readonly<Record<string, (one: Measurement) => number>> = {
    'rows/s': ({ rowsPerSecond }) => rowsPerSecond,
    'p50 ms': ({ p50 }) => p50,
    'p99 ms': ({ p99 }) => p99,
    'program us': ({ processorTime }) => processorTime?.program ?? Number.NaN,
    'Postgres us': ({ processorTime }) => processorTime?.postgres ?? Number.NaN,
  };
  const rows = Object.entries(values).map(([name, value]) => [
    name,
    ...cellsOf(median(empty.map(value)), median(full.map(value))),
  ]);
  const wrong = [...empty, ...full].filter(isWrong).length;
  return (
    formatTable([`storing, medians of ${countOf(empty.length, 'round')}`, ...COLUMNS], rows) +
    (wrong === 0 ? '' : `\n${countOf(wrong, 'run')} with WRONG rows`)
  );
}

function formatWaits({ waits: { empty, full } }: Beside): string {
  const rows = full.flatMap((wait) => {
    const other = empty.find(({ name }) => name === wait.name);
    const percentiles = wait.times === 1 ? (['p50'] as const) : (['p50', 'p95'] as const);
    return percentiles.map((percentile) => [
      wait.times === 1 ? wait.name : `${wait.name}, ${percentile} of ${wait.times}`,
      ...cellsOf(other?.[percentile] ?? Number.NaN, wait[percentile]),
    ]);
  });
  return formatTable(['waiting, ms', ...COLUMNS], rows);
}

function cellsOf(empty: number, full: number): readonly string[] {
  const format = (value: number) => (value < 1_000 ? value.toFixed(1) : formatWhole(value)).padStart(8);
  return [format(empty), format(full), (full / empty).toFixed(2).padStart(12)];
}

const formatWhole = (value: number) => formatCount(Math.round(value));
