/** Latencies, counted in steps of 0.1 ms: a run of any length uses the same memory. */
export interface Latencies {
  add(milliseconds: number): void;
  count(): number;
  /** The percentile in milliseconds, to 0.1 ms. */
  percentile(percent: number): number;
}

const STEPS_PER_MS = 10;

/** Longer latencies count as this. */
const LONGEST_MS = 60_000;

export function createLatencies(): Latencies {
  const steps = new Uint32Array(LONGEST_MS * STEPS_PER_MS + 1);
  let count = 0;
  return {
    add(milliseconds) {
      const step = Math.min(Math.ceil(milliseconds * STEPS_PER_MS), steps.length - 1);
      steps[step] = (steps[step] ?? 0) + 1;
      count += 1;
    },
    count: () => count,
    percentile(percent) {
      const wanted = (count * percent) / 100;
      let seen = 0;
      const step = steps.findIndex((times) => (seen += times) >= wanted);
      return step / STEPS_PER_MS;
    },
  };
}
