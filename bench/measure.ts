import { applyLoad } from './apply-load.ts';
import { drain } from './drain.ts';
import { watchMemory } from './memory.ts';
import { readProcessorTime, usedBetween } from './processor-time.ts';
import { TARGETS } from './targets/all.ts';
import type { TargetName } from './targets/all.ts';
import { openPlace } from './targets/target.ts';
import type { RunningTarget, Variant } from './targets/target.ts';
import { WORKLOADS } from './workloads.ts';
import type { WorkloadName } from './workloads.ts';

/** The results of one target under one workload. */
export interface Measurement {
  readonly target: TargetName;
  readonly workload: WorkloadName;
  /** Answers with 2xx per second, while the load lasted. */
  readonly deliveriesPerSecond: number;
  /** Rows per second, from the load's first byte to the last row. */
  readonly rowsPerSecond: number;
  /** Latency of the answers, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Peak resident memory of the program's Node.js process, in MB of 1,000,000 bytes. */
  readonly peakMemory: number;
  /**
   * Microseconds of processor time per delivery: of the program, of all its servers, and of Postgres alone. Undefined
   * outside Linux.
   */
  readonly processorTime:
    { readonly program: number; readonly servers: number; readonly postgres: number } | undefined;
  /** Deliveries by their outcome at the sender. */
  readonly acknowledged: number;
  readonly refused: number;
  readonly unanswered: number;
  /** Rows that the acknowledged deliveries should have, and rows in Postgres. */
  readonly expectedRows: number;
  readonly storedRows: number;
  /** Whether rows were still coming when the time to store them was over; the rates include the rows stored by then. */
  readonly cutShort: boolean;
  /** Seconds from the last answer to the last counted row. */
  readonly drainSeconds: number;
}

/** After this time the code is compiled and caches are warm. */
const WARM_UP_SECONDS = 2;

/** A target has this many times the duration of the load to store what it has accepted. */
const DRAIN_FACTOR = 4;

/**
 * Starts one target, measures it under one workload, and removes it. With a data directory, its database is the one there,
 * which stays.
 */
export async function measure(
  target: TargetName,
  workload: WorkloadName,
  seconds: number,
  signal: AbortSignal,
  { dataDir, ...variant }: Variant & { readonly dataDir?: string } = {},
): Promise<Measurement> {
  await using place = await openPlace(signal, dataDir);
  const running = await TARGETS[target].start(place, variant);
  using memory = watchMemory(running.pid);
  const { messageType, warmUp } = WORKLOADS[workload];
  const rowsOf = (name: WorkloadName) =>
    WORKLOADS[name][TARGETS[target].storesRecords === true ? 'records' : 'rows'];
  const countRows = () => running.countRows(messageType);

  const warm = await applyLoad({ ...running, workload: warmUp, seconds: WARM_UP_SECONDS }, signal);
  const before = await drain(countRows, warm.acknowledged * rowsOf(warmUp), Infinity, signal);

  const spent = await watchProcessorTime(running);
  const load = await applyLoad({ ...running, workload, seconds }, signal);
  const expectedRows = load.acknowledged * rowsOf(workload);
  const limit = seconds * DRAIN_FACTOR;
  const { rows, at, cutShort } = await drain(countRows, before.rows + expectedRows, limit, signal);
  return {
    target,
    workload,
    deliveriesPerSecond: perSecond(load.acknowledged, load.startedAt, load.endedAt),
    rowsPerSecond: perSecond(rows - before.rows, load.startedAt, at),
    p50: load.p50,
    p99: load.p99,
    peakMemory: await memory.peak(),
    processorTime: await spent?.(load.acknowledged),
    acknowledged: load.acknowledged,
    refused: load.refused,
    unanswered: load.unanswered,
    expectedRows,
    storedRows: rows - before.rows,
    cutShort,
    drainSeconds: (at - load.endedAt) / 1_000,
  };
}

/** Starts to count processor time. Returns the way to share it among a number of deliveries. */
async function watchProcessorTime({ pid, servers }: RunningTarget) {
  if (process.platform !== 'linux') return undefined;
  const before = await readProcessorTime(pid);
  return async (deliveries: number) => {
    const used = usedBetween(pid, before, await readProcessorTime(pid));
    const ofServers = Object.values(servers).reduce((sum, id) => sum + used.ofFamily(id), 0);
    const ofPostgres = servers['Postgres'] === undefined ? 0 : used.ofFamily(servers['Postgres']);
    return {
      program: used.ofFamily(pid) / deliveries,
      servers: ofServers / deliveries,
      postgres: ofPostgres / deliveries,
    };
  };
}

const perSecond = (count: number, from: number, to: number) => (count * 1_000) / (to - from);
