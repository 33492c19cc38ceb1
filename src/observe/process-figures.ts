import { monitorEventLoopDelay, createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { ProcessFigures } from '../store/server/processes.ts';
import type { QueueState } from '../queue/delivery-queue.ts';

export interface ProcessParts {
  readonly receives: boolean;
  readonly stores: boolean;
  /** The state of the queue's producer; undefined in a process without one. */
  readonly queueState: () => QueueState | undefined;
}

export type ProcessGauge = ReturnType<typeof createProcessGauge>;

/** The sampling interval of the event loop's delay, which wakes an idle process so often. Only the delay beyond it is reported. */
const RESOLUTION_MS = 100;

export function createProcessGauge({ receives, stores, queueState }: ProcessParts) {
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
    answered: (seconds: number) => answers.add(seconds),
    refused: () => refusals.add(0),
    stored: (events: number, seconds: number) => transactions.add(seconds, events),
    /** The figures of the last minute; processor and event loop load since the last call. */
    figures(): ProcessFigures {
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

/** The minute advances in steps of this length. */
const SLOT_MS = 5_000;
const SLOTS = 12;

/** The longest duration that is distinguished: a quarter of an hour, in microseconds. */
const LONGEST_US = 900_000_000;

/** Durations in microseconds, distinguished to within a hundredth. */
const createDurations = () => createHistogram({ lowest: 1, highest: LONGEST_US, figures: 2 });

interface Slot {
  step: number;
  amount: number;
  readonly durations: RecordableHistogram;
}

/** Starts to count; `now` returns the milliseconds of a monotonic clock. */
export function createLastMinute(now: () => number = () => performance.now()) {
  const startedAt = now();
  const slots = Array.from({ length: SLOTS }, (): Slot => ({
    step: -1,
    amount: 0,
    durations: createDurations(),
  }));

  function currentSlot(): Slot | undefined {
    const step = Math.floor(now() / SLOT_MS);
    const slot = slots[step % SLOTS];
    if (slot !== undefined && slot.step !== step) {
      slot.step = step;
      slot.amount = 0;
      slot.durations.reset();
    }
    return slot;
  }

  return {
    /** Adds one event with its duration and its amount. */
    add(seconds: number, amount: number = 1): void {
      const slot = currentSlot();
      if (slot === undefined) return;
      slot.amount += amount;
      slot.durations.record(Math.min(Math.max(1, Math.ceil(seconds * 1e6)), LONGEST_US));
    },
    summary() {
      const at = now();
      const recent = slots.filter(({ step }) => step > Math.floor(at / SLOT_MS) - SLOTS);
      const seconds = Math.min(at - startedAt, (SLOTS - 1) * SLOT_MS + (at % SLOT_MS)) / 1000;
      const amount = recent.reduce((sum, slot) => sum + slot.amount, 0);
      const durations = createDurations();
      for (const slot of recent) durations.add(slot.durations);
      const percentile = (percent: number) =>
        durations.count === 0 ? 0 : durations.percentile(percent) / 1000;
      return {
        perSecond: seconds === 0 ? 0 : amount / seconds,
        p50Ms: percentile(50),
        p99Ms: percentile(99),
      };
    },
  };
}
