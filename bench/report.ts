import type { ArchiveRead } from './archive.ts';
import { median, medianParts } from './against-base.ts';
import type { Pair } from './against-base.ts';
import type { Backlog } from './backlog.ts';
import type { Budget, Part } from './budget.ts';
import { formatTable } from '../src/commands/shared/output.ts';
import { countOf, formatCount } from '../src/lib/text/units.ts';
import type { Forwarded } from './forward.ts';
import type { Machine } from './machine.ts';
import type { Measurement } from './measure.ts';
import type { Answered, Searched } from './search.ts';
import type { MemorySample, Soak } from './soak.ts';
import { TARGETS } from './targets/all.ts';
import { WORKLOADS } from './workloads.ts';

/** The machine in one line. */
export function formatMachine(machine: Machine): string {
  const { cpu, cores, memoryGb, system, node, postgres, redis, fluentBit, sender } = machine;
  const servers = [
    `Node.js ${node}`,
    `Postgres ${postgres}`,
    redis === undefined ? 'no Redis' : `Redis ${redis}`,
    ...(fluentBit === undefined ? [] : [`Fluent Bit ${fluentBit}`]),
  ];
  return (
    `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}; ${servers.join(', ')}; ` +
    `${sender} sends from the same machine`
  );
}

/** A measurement with its ratio to the plain receiver under the same workload. */
export interface Compared extends Measurement {
  /** Undefined if the plain receiver was not measured. */
  readonly ratio: { readonly deliveriesPerSecond: number; readonly rowsPerSecond: number } | undefined;
}

/** Compares every measurement with the plain receiver. */
export function compare(measurements: readonly Measurement[]): readonly Compared[] {
  return measurements.map((measured) => {
    const plain = measurements.find(
      ({ target, workload }) => target === 'plain' && workload === measured.workload,
    );
    const ratio = plain && {
      deliveriesPerSecond: measured.deliveriesPerSecond / plain.deliveriesPerSecond,
      rowsPerSecond: measured.rowsPerSecond / plain.rowsPerSecond,
    };
    return { ...measured, ratio };
  });
}

const NUMBERS: Readonly<Record<string, (compared: Compared) => string>> = {
  'deliveries/s': ({ deliveriesPerSecond }) => formatWhole(deliveriesPerSecond),
  'rows/s': ({ rowsPerSecond }) => formatWhole(rowsPerSecond),
  'p50 ms': ({ p50 }) => p50.toFixed(1),
  'p99 ms': ({ p99 }) => p99.toFixed(1),
  'peak MB': ({ peakMemory }) => formatWhole(peakMemory),
  'x deliveries': ({ ratio }) => ratio?.deliveriesPerSecond.toFixed(1) ?? '',
  'x rows': ({ ratio }) => ratio?.rowsPerSecond.toFixed(1) ?? '',
  'drain s': ({ drainSeconds }) => drainSeconds.toFixed(1),
};

/** One table for each workload. */
export function formatComparison(compared: readonly Compared[]): string {
  const tables = Map.groupBy(compared, ({ workload }) => workload)
    .entries()
    .map(([workload, rows]) => {
      const { messageType, records, rows: rowsOfEach, form } = WORKLOADS[workload];
      const heading = `${messageType}, ${countOf(records, 'record')} (${countOf(rowsOfEach, 'row')}) per delivery${form === 'basic' ? ', secret in the Basic form' : ''}`;
      return `${heading}\n${formatRows(rows)}`;
    });
  return [...tables].join('\n\n');
}

function formatRows(compared: readonly Compared[]): string {
  const width = Math.max(...Object.keys(NUMBERS).map((name) => name.length));
  const columns = Object.keys(NUMBERS).map((name) => name.padStart(width));
  const rows = compared.map((one) => [
    TARGETS[one.target].title,
    ...Object.values(NUMBERS).map((format) => format(one).padStart(width)),
    formatCheck(one),
  ]);
  return formatTable(['', ...columns, 'rows stored'], rows);
}

function formatCheck({ expectedRows, storedRows, cutShort, refused, unanswered }: Measurement): string {
  const failed =
    refused + unanswered > 0
      ? `; ${formatCount(refused)} rejected, ${formatCount(unanswered)} unanswered`
      : '';
  if (storedRows === expectedRows) return `all ${formatWhole(storedRows)}${failed}`;
  const reason = cutShort ? 'out of time' : 'WRONG';
  return `${formatWhole(storedRows)} of ${formatWhole(expectedRows)}, ${reason}${failed}`;
}

/** One moment of a soak. */
export function formatSample({ seconds, memory }: MemorySample): string {
  return `${formatWhole(seconds).padStart(6)} s  ${formatWhole(memory).padStart(6)} MB`;
}

/** The result of a soak, in one line. */
export function formatSoak({
  flat,
  earlier,
  later,
  peakMemory,
  acknowledged,
  deliveriesPerSecond,
}: Soak): string {
  const verdict = flat ? 'flat' : 'NOT flat';
  return (
    `memory is ${verdict}: median ${formatWhole(earlier)} MB in the second third, ${formatWhole(later)} MB in the last third, ` +
    `peak ${formatWhole(peakMemory)} MB; ${formatWhole(acknowledged)} deliveries, ${formatWhole(deliveriesPerSecond)}/s`
  );
}

/** The result of draining a backlog, in one line. */
export function formatBacklog(backlog: Backlog): string {
  const ratio = backlog.drainedRowsPerSecond / backlog.steadyRowsPerSecond;
  return (
    `${formatWhole(backlog.deliveries)} spooled deliveries drained at ${formatWhole(backlog.drainedRowsPerSecond)} rows/s, ` +
    `${ratio.toFixed(2)} of the steady ${formatWhole(backlog.steadyRowsPerSecond)}; meanwhile ` +
    `${formatWhole(backlog.liveRate)} new deliveries/s, p50 ${backlog.p50.toFixed(1)} ms, ` +
    `p99 ${backlog.p99.toFixed(1)} ms; peak memory ${formatWhole(backlog.peakMemory)} MB`
  );
}

/** The results of forwarding, with ingest in the same run. */
export function formatForwarded(forwarded: Forwarded): string {
  const { events, ingestRate, liveRate, quietP99, destinations } = forwarded;
  const columns = ['', 'events/s', 'x ingest', 'events/s under load', 'x ingest', 'p99 ms', 'x quiet'];
  const rows = destinations.map(({ destination, aloneRate, busyRate, p99 }) => [
    destination,
    formatWhole(aloneRate),
    (aloneRate / ingestRate).toFixed(1),
    formatWhole(busyRate),
    (busyRate / ingestRate).toFixed(1),
    p99.toFixed(1),
    (p99 / quietP99).toFixed(1),
  ]);
  return (
    `${formatWhole(events)} events, stored at ${formatWhole(ingestRate)}/s; load of ${formatWhole(liveRate)} deliveries/s, ` +
    `p99 ${quietP99.toFixed(1)} ms without forwarding\n${formatTable(columns, rows)}`
  );
}

/** The program, its parts, everything else, and the sum. */
export function budgetLines({ program, parts, others }: Budget): readonly Part[] {
  return [
    { name: 'xiq-sink', microseconds: program },
    ...parts.map(({ name, microseconds }) => ({ name: `- ${name}`, microseconds })),
    ...others,
    { name: 'all', microseconds: others.reduce((sum, { microseconds }) => sum + microseconds, program) },
  ];
}

/** Functions below the table of the parts. */
const FUNCTIONS_SHOWN = 15;

/** Processor time per delivery: a table of the parts, and one of the functions that take most of it. */
export function formatBudget(budget: Budget): string {
  const { target, workload, deliveries, deliveriesPerSecond, threads, functions } = budget;
  const lines = budgetLines(budget);
  const total = lines.at(-1)?.microseconds ?? Number.NaN;
  const rows = lines.map(({ name, microseconds }) => [
    name,
    microseconds.toFixed(1).padStart(7),
    `${((microseconds * 100) / total).toFixed(1)} %`.padStart(7),
  ]);
  const longest = functions
    .slice(0, FUNCTIONS_SHOWN)
    .map(({ name, part, at, microseconds }) => [name, microseconds.toFixed(1).padStart(7), part, at]);
  return (
    `${workload}, ${TARGETS[target].title}: microseconds of processor time per delivery ` +
    `(${formatCount(deliveries)} deliveries, ${formatWhole(deliveriesPerSecond)}/s)\n` +
    `${formatTable(['', '     us', '  share'], rows)}\n` +
    `by thread: ${threads.map(({ name, microseconds }) => `${name} ${microseconds.toFixed(1)}`).join(', ')}\n\n` +
    formatTable(['function', '     us', 'part', 'at'], longest)
  );
}

/** This checkout and another one: medians of the rounds, and ratios of this one to the other. */
export function formatAgainst(pairs: readonly Pair<Measurement>[]): string {
  const values: Readonly<Record<string, (one: Measurement) => number>> = {
    'rows/s': ({ rowsPerSecond }) => rowsPerSecond,
    'p50 ms': ({ p50 }) => p50,
    'p99 ms': ({ p99 }) => p99,
    'peak MB': ({ peakMemory }) => peakMemory,
    'program us': ({ processorTime }) => processorTime?.program ?? Number.NaN,
    'servers us': ({ processorTime }) => processorTime?.servers ?? Number.NaN,
  };
  const rows = pairs.flatMap(({ target, workload, here, base }) =>
    Object.entries(values).map(([name, value]) => [
      `${workload}, ${TARGETS[target].title}`,
      name,
      ...ratioOf(median(base.map(value)), median(here.map(value))),
    ]),
  );
  const wrong = pairs.flatMap(({ here, base }) => [...here, ...base]).filter(isWrong).length;
  return (
    formatTable(['', '', 'base', 'here', 'here / base'], rows) +
    formatBasic(pairs) +
    (wrong === 0 ? '' : `\n${countOf(wrong, 'run')} with WRONG rows`)
  );
}

/** Whether the rows in Postgres are others than those that were acknowledged. */
export function isWrong({ storedRows, expectedRows, cutShort }: Measurement): boolean {
  return storedRows !== expectedRows && !cutShort;
}

/** How fast the Basic form is, for each target. */
function formatBasic(pairs: readonly Pair<Measurement>[]): string {
  const rate = ({ here }: Pair<Measurement>) => median(here.map(({ rowsPerSecond }) => rowsPerSecond));
  const lines = pairs.map((bearer) => {
    const basic = pairs.find(
      ({ target, workload }) => target === bearer.target && workload === `${bearer.workload}-basic`,
    );
    return basic === undefined
      ? ''
      : `\nBasic form, ${TARGETS[basic.target].title}: ${(rate(basic) / rate(bearer)).toFixed(2)} of the rows/s of bearer`;
  });
  return lines.join('');
}

/** The parts of this checkout and of another one: medians of the rounds. */
export function formatBudgetsAgainst(pairs: readonly Pair<Budget>[]): string {
  const tables = pairs.map(({ target, workload, here, base }) => {
    const before = medianParts(base.map(budgetLines));
    const now = medianParts(here.map(budgetLines));
    const names = new Set([...now.keys(), ...before.keys()]);
    const rows = [...names].map((name) => [name, ...ratioOf(before.get(name) ?? 0, now.get(name) ?? 0)]);
    const heading = `${workload}, ${TARGETS[target].title}: microseconds of processor time per delivery`;
    return `${heading}\n${formatTable(['', 'base', 'here', 'here / base'], rows)}`;
  });
  return tables.join('\n\n');
}

function ratioOf(base: number, here: number): readonly string[] {
  const format = (value: number) => (value < 1_000 ? value.toFixed(1) : formatWhole(value)).padStart(8);
  return [format(base), format(here), (base === 0 ? '' : (here / base).toFixed(2)).padStart(11)];
}

/** The results of reading the archive. */
export function formatArchiveRead({ rows, answers, memory }: ArchiveRead): string {
  const written = Object.entries(rows).map(([type, count]) => `${formatWhole(count)} ${type}`);
  return (
    `${written.join(', ')}; peak memory ${formatWhole(memory.program)} MB, and of DuckDB ${formatWhole(memory.engine)} MB\n` +
    formatAnswers(answers)
  );
}

function formatAnswers(answers: readonly Answered[]): string {
  const columns = ['', 'p50 ms', 'p95 ms', 'slowest ms', '% with results or complete'];
  const rows = answers.map(({ question, p50, p95, slowest, found }) => [
    question,
    p50.toFixed(1),
    p95.toFixed(1),
    slowest.toFixed(1),
    formatWhole(found),
  ]);
  return formatTable(columns, rows);
}

/** The results of searches and exports. */
export function formatSearched({ seeded, answers, memory, exports }: Searched): string {
  const exported = exports.map(
    ({ format, rows, rowsPerSecond, megabytes, peakMemory }) =>
      `${format}: ${formatWhole(rows)} rows (${formatWhole(megabytes)} MB) at ${formatWhole(rowsPerSecond)} rows/s, peak memory ${formatWhole(peakMemory)} MB`,
  );
  return (
    `${formatWhole(seeded.events)} events; peak memory of the querying process ${formatWhole(memory)} MB\n` +
    `${formatAnswers(answers)}\n${exported.join('\n')}`
  );
}

const formatWhole = (value: number) => formatCount(Math.round(value));
