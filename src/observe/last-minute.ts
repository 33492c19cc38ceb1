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

/** Durations are counted in buckets that grow by an eighth of an octave, from 10 us to a quarter of an hour. */
const BUCKETS_PER_OCTAVE = 8;
const SMALLEST_MS = 0.01;
const BUCKETS = 27 * BUCKETS_PER_OCTAVE;

interface Slot {
  /** The step of the clock that this slot counts. */
  step: number;
  amount: number;
  readonly durations: Uint32Array;
}

/** Starts to count; `now` returns the milliseconds of a monotonic clock. */
export function createLastMinute(now: () => number = () => performance.now()): LastMinute {
  const startedAt = now();
  const slots = Array.from({ length: SLOTS }, (): Slot => ({
    step: -1,
    amount: 0,
    durations: new Uint32Array(BUCKETS),
  }));

  function currentSlot(): Slot | undefined {
    const step = Math.floor(now() / SLOT_MS);
    const slot = slots[step % SLOTS];
    if (slot !== undefined && slot.step !== step) {
      slot.step = step;
      slot.amount = 0;
      slot.durations.fill(0);
    }
    return slot;
  }

  return {
    add(seconds, amount = 1) {
      const slot = currentSlot();
      if (slot === undefined) return;
      slot.amount += amount;
      const bucket = bucketOf(seconds * 1000);
      slot.durations[bucket] = (slot.durations[bucket] ?? 0) + 1;
    },
    summary() {
      const at = now();
      const recent = slots.filter(({ step }) => step > Math.floor(at / SLOT_MS) - SLOTS);
      const seconds = Math.min(at - startedAt, (SLOTS - 1) * SLOT_MS + (at % SLOT_MS)) / 1000;
      const amount = recent.reduce((sum, slot) => sum + slot.amount, 0);
      const percentile = percentilesOf(recent.map(({ durations }) => durations));
      return {
        perSecond: seconds === 0 ? 0 : amount / seconds,
        p50Ms: percentile(0.5),
        p99Ms: percentile(0.99),
      };
    },
  };
}

function bucketOf(ms: number): number {
  const bucket = Math.ceil(Math.log2(Math.max(ms, SMALLEST_MS) / SMALLEST_MS) * BUCKETS_PER_OCTAVE);
  return Math.min(bucket, BUCKETS - 1);
}

/** Returns the upper end of the bucket that contains a share of all durations, in milliseconds. */
function percentilesOf(counts: readonly Uint32Array[]): (share: number) => number {
  const total = Array.from({ length: BUCKETS }, (_, bucket) =>
    counts.reduce((sum, durations) => sum + (durations[bucket] ?? 0), 0),
  );
  const all = total.reduce((sum, count) => sum + count, 0);
  return (share) => {
    let below = 0;
    const bucket = total.findIndex((count) => {
      below += count;
      return all > 0 && below >= share * all;
    });
    return bucket === -1 ? 0 : SMALLEST_MS * 2 ** (bucket / BUCKETS_PER_OCTAVE);
  };
}
