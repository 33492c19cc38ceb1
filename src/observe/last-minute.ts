import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** Figures of the last minute, or of the time since the start if that is shorter. */
interface MinuteSummary {
  /** The sum of the amounts per second. */
  readonly perSecond: number;
  /** Percentiles of the durations, to within a tenth; 0 if there are none. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Summarizes the last minute in constant memory. */
export interface LastMinute {
  /** Adds one event with its duration and its amount. */
  add(seconds: number, amount?: number): void;
  summary(): MinuteSummary;
}

/** The minute advances in steps of this length. */
const SLOT_MS = 5_000;
const SLOTS = 12;

/** The longest duration that is told apart: a quarter of an hour, in microseconds. */
const LONGEST_US = 900_000_000;

/** Durations in microseconds, told apart to within a hundredth. */
const createDurations = () => createHistogram({ lowest: 1, highest: LONGEST_US, figures: 2 });

interface Slot {
  /** The step of the clock that this slot counts. */
  step: number;
  amount: number;
  readonly durations: RecordableHistogram;
}

/** Starts to count; `now` returns the milliseconds of a monotonic clock. */
export function createLastMinute(now: () => number = () => performance.now()): LastMinute {
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
    add(seconds, amount = 1) {
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
