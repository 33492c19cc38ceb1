import type { Backlog } from './backlog.ts';
import { formatTable } from '../src/commands/shared/output.ts';
import type { Forwarded } from './forward.ts';
import type { Machine } from './machine.ts';
import type { Measurement } from './measure.ts';
import type { Searched } from './search.ts';
import type { MemorySample, Soak } from './soak.ts';
import { TARGETS } from './targets/all.ts';
import { WORKLOADS } from './workloads.ts';

/** The machine in one line. */
export function formatMachine({ cpu, cores, memoryGb, system, node, postgres, redis }: Machine): string {
  const servers = `Node.js ${node}, Postgres ${postgres}, ${redis === undefined ? 'no Redis' : `Redis ${redis}`}`;
  return `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}; ${servers}; sender and servers share the machine`;
}

/** A measurement beside the plain receiver's under the same workload: how many times as much. */
export interface Compared extends Measurement {
  /** Undefined when the plain receiver was not measured. */
  readonly ratio: { readonly deliveriesPerSecond: number; readonly rowsPerSecond: number } | undefined;
}

/** Sets every measurement beside the plain receiver's. */
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
  'deliveries/s': ({ deliveriesPerSecond }) => whole(deliveriesPerSecond),
  'rows/s': ({ rowsPerSecond }) => whole(rowsPerSecond),
  'p50 ms': ({ p50 }) => p50.toFixed(1),
  'p99 ms': ({ p99 }) => p99.toFixed(1),
  'peak MB': ({ peakMemory }) => whole(peakMemory),
  'x deliveries': ({ ratio }) => ratio?.deliveriesPerSecond.toFixed(1) ?? '',
  'x rows': ({ ratio }) => ratio?.rowsPerSecond.toFixed(1) ?? '',
  'drain s': ({ drainSeconds }) => drainSeconds.toFixed(1),
};

/** One table for each workload. */
export function formatComparison(compared: readonly Compared[]): string {
  const tables = Map.groupBy(compared, ({ workload }) => workload)
    .entries()
    .map(([workload, rows]) => {
      const { messageType, records, rows: rowsOfEach } = WORKLOADS[workload];
      const heading = `${messageType}, ${plural(records, 'record')} (${plural(rowsOfEach, 'row')}) a delivery`;
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
  const failed = refused + unanswered > 0 ? `; ${refused} refused, ${unanswered} without answer` : '';
  if (storedRows === expectedRows) return `all ${whole(storedRows)}${failed}`;
  const reason = cutShort ? 'when the time was over' : 'WRONG';
  return `${whole(storedRows)} of ${whole(expectedRows)}, ${reason}${failed}`;
}

/** One moment of a soak. */
export function formatSample({ seconds, memory }: MemorySample): string {
  return `${whole(seconds).padStart(6)} s  ${whole(memory).padStart(6)} MB`;
}

/** What a soak showed, in one line. */
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
    `memory is ${verdict}: median ${whole(earlier)} MB in the second third, ${whole(later)} MB in the last, ` +
    `peak ${whole(peakMemory)} MB; ${whole(acknowledged)} deliveries, ${whole(deliveriesPerSecond)}/s`
  );
}

/** How a backlog drained, in one line. */
export function formatBacklog(backlog: Backlog): string {
  const ratio = backlog.drainedRowsPerSecond / backlog.steadyRowsPerSecond;
  return (
    `${whole(backlog.deliveries)} spooled deliveries drained at ${whole(backlog.drainedRowsPerSecond)} rows/s, ` +
    `${ratio.toFixed(2)} of the steady ${whole(backlog.steadyRowsPerSecond)}; meanwhile ` +
    `${whole(backlog.liveRate)} new ones a second were answered within ${backlog.p50.toFixed(1)} ms (p50) and ` +
    `${backlog.p99.toFixed(1)} ms (p99); peak memory ${whole(backlog.peakMemory)} MB`
  );
}

/** How fast events were forwarded, beside ingest in the same run. */
export function formatForwarded(forwarded: Forwarded): string {
  const { events, ingestRate, liveRate, quietP99, destinations } = forwarded;
  const columns = ['', 'events/s', 'x ingest', 'events/s beside load', 'x ingest', 'p99 ms', 'x quiet'];
  const rows = destinations.map(({ destination, aloneRate, busyRate, p99 }) => [
    destination,
    whole(aloneRate),
    (aloneRate / ingestRate).toFixed(1),
    whole(busyRate),
    (busyRate / ingestRate).toFixed(1),
    p99.toFixed(1),
    (p99 / quietP99).toFixed(1),
  ]);
  return (
    `${whole(events)} events, stored at ${whole(ingestRate)}/s; load of ${whole(liveRate)} deliveries/s, ` +
    `answered within ${quietP99.toFixed(1)} ms (p99) without catching up\n${formatTable(columns, rows)}`
  );
}

/** How fast events were found and exported. */
export function formatSearched({ seeded, answers, memory, exports }: Searched): string {
  const columns = ['', 'p50 ms', 'p95 ms', 'slowest ms', '% not empty or complete'];
  const rows = answers.map(({ question, p50, p95, slowest, found }) => [
    question,
    p50.toFixed(1),
    p95.toFixed(1),
    slowest.toFixed(1),
    whole(found),
  ]);
  const exported = exports.map(
    ({ format, rows, rowsPerSecond, megabytes, peakMemory }) =>
      `${format}: ${whole(rows)} rows (${whole(megabytes)} MB) at ${whole(rowsPerSecond)} rows/s, peak memory ${whole(peakMemory)} MB`,
  );
  return (
    `${whole(seeded.events)} events; the process that asks took ${whole(memory)} MB at most\n` +
    `${formatTable(columns, rows)}\n${exported.join('\n')}`
  );
}

const whole = (value: number) => Math.round(value).toLocaleString('en');

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
