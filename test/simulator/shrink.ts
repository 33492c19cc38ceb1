import type { History, Outcome } from './simulate.ts';

/**
 * The shortest history found that still fails: fewer faults, then fewer deliveries, as long as one of both helps. `deadline` ends the
 * search (milliseconds of `performance.now()`).
 */
export async function shrink(
  history: History,
  run: (history: History) => Promise<Outcome>,
  deadline: number,
): Promise<History> {
  let shortest = history;
  const tryOne = async (next: History): Promise<boolean> => {
    if (performance.now() > deadline || (await run(next)).failures.length === 0) return false;
    shortest = next;
    return true;
  };
  for (
    let size = Math.ceil(history.faults.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < shortest.faults.length;) {
      const faults = shortest.faults.toSpliced(from, size);
      if (!(await tryOne({ ...shortest, faults }))) from += size;
    }
  }
  for (let step = Math.ceil(history.deliveries / 2); step >= 1; step = step === 1 ? 0 : Math.ceil(step / 2)) {
    while (
      shortest.deliveries > step &&
      (await tryOne({ ...shortest, deliveries: shortest.deliveries - step }))
    );
  }
  return shortest;
}
