import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProcessFigures } from '../store/processes.ts';
import { createLastMinute } from './last-minute.ts';

/** The parts of the service that a process runs. */
export interface ProcessParts {
  readonly receives: boolean;
  readonly stores: boolean;
  /** The state of the queue's producer; undefined in a process without one. */
  readonly queueState: () => QueueState | undefined;
}

/** The state of a queue's producer, and of its spool. */
export interface QueueState {
  readonly works: boolean;
  readonly spool: {
    readonly bytes: number;
    readonly segments: number;
    readonly oldestAt: number | undefined;
  };
}

/** Collects the figures that a process reports about itself. */
export interface ProcessGauge {
  answered(seconds: number): void;
  refused(): void;
  stored(events: number, seconds: number): void;
  /** The figures of the last minute; processor and event loop load since the last call. */
  figures(): ProcessFigures;
  close(): void;
}

/** The sampling interval of the event loop's delay. Only the delay beyond it is reported. */
const RESOLUTION_MS = 10;

/** Starts to collect. */
export function createProcessGauge({ receives, stores, queueState }: ProcessParts): ProcessGauge {
  const answers = createLastMinute();
  const refusals = createLastMinute();
  const transactions = createLastMinute();
  const cpuPercent = createCpuMeter();
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();

  function takeDelay(): number {
    const p99Ms = delay.percentile(99) / 1e6;
    delay.reset();
    return Math.max(0, p99Ms - RESOLUTION_MS);
  }

  return {
    answered: (seconds) => answers.add(seconds),
    refused: () => refusals.add(0),
    stored: (events, seconds) => transactions.add(seconds, events),
    figures() {
      const queue = queueState();
      const { perSecond: eventsPerSecond, ...storing } = transactions.summary();
      return {
        answers: receives ? { ...answers.summary(), refusedPerSecond: refusals.summary().perSecond } : null,
        spool: queue === undefined ? null : spoolFigures(queue.spool),
        queueWorks: queue?.works ?? null,
        storing: stores ? { eventsPerSecond, ...storing } : null,
        memoryBytes: process.memoryUsage.rss(),
        eventLoopDelayP99Ms: takeDelay(),
        cpuPercent: cpuPercent(),
      };
    },
    close: () => void delay.disable(),
  };
}

const spoolFigures = ({ bytes, segments, oldestAt }: QueueState['spool']) => ({
  bytes,
  segments,
  oldestSeconds: oldestAt === undefined ? 0 : (Date.now() - oldestAt) / 1000,
});

/** Creates a function that returns the processor time used since its last call, in percent of one core. */
function createCpuMeter(): () => number {
  let at = performance.now();
  let used = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(used);
    const elapsedMs = performance.now() - at;
    at = performance.now();
    used = process.cpuUsage();
    return elapsedMs === 0 ? 0 : ((user + system) / 1000 / elapsedMs) * 100;
  };
}
