import path from 'node:path';
import { measureBudget } from './budget.ts';
import type { Budget, Part } from './budget.ts';
import { measure } from './measure.ts';
import type { Measurement } from './measure.ts';
import { THIS_CHECKOUT } from './targets/xiq-sink.ts';
import type { WorkloadName } from './workloads.ts';

/** The results of two checkouts for one target and workload, one of each round. */
export interface Pair<Result> {
  readonly target: Budget['target'];
  readonly workload: WorkloadName;
  readonly here: readonly Result[];
  readonly base: readonly Result[];
}

/** What is measured on both checkouts. */
export interface Comparison {
  /** The folder of the other checkout, with its packages installed. */
  readonly base: string;
  readonly targets: readonly Budget['target'][];
  readonly workloads: readonly WorkloadName[];
  readonly rounds: number;
  readonly seconds: number;
}

type MeasureOne<Result> = (
  target: Budget['target'],
  workload: WorkloadName,
  seconds: number,
  signal: AbortSignal,
  checkout: string,
) => Promise<Result>;

/**
 * Measures both checkouts in turns, with the same sender, Redis and Postgres. Each round measures all targets and
 * workloads, and every second round begins with the other checkout, so that a machine that gets slower favours neither.
 */
async function inTurns<Result>(
  measureOne: MeasureOne<Result>,
  { base, targets, workloads, rounds, seconds }: Comparison,
  onRun: (text: string) => void,
  signal: AbortSignal,
): Promise<readonly Pair<Result>[]> {
  const none = (): Result[] => [];
  const pairs = targets.flatMap((target) =>
    workloads.map((workload) => ({ target, workload, here: none(), base: none() })),
  );
  const checkouts = [
    { name: 'here', folder: THIS_CHECKOUT },
    { name: 'base', folder: path.resolve(base) },
  ] as const;
  for (let round = 0; round < rounds; round += 1) {
    for (const pair of pairs) {
      for (const { name, folder } of round % 2 === 0 ? checkouts : checkouts.toReversed()) {
        onRun(`round ${round + 1} of ${rounds}: ${pair.workload}, ${pair.target}, ${name}`);
        pair[name].push(await measureOne(pair.target, pair.workload, seconds, signal, folder));
      }
    }
  }
  return pairs;
}

/** Measures the rates and latencies of this checkout and of another one. */
export async function measureAgainst(
  comparison: Comparison,
  onRun: (text: string) => void,
  signal: AbortSignal,
): Promise<readonly Pair<Measurement>[]> {
  const measureOne: MeasureOne<Measurement> = async (target, workload, seconds, stopping, checkout) =>
    measure(target, workload, seconds, stopping, { checkout });
  return inTurns(measureOne, comparison, onRun, signal);
}

/** Measures the processor time of this checkout and of another one. */
export async function budgetAgainst(
  comparison: Comparison,
  onRun: (text: string) => void,
  signal: AbortSignal,
): Promise<readonly Pair<Budget>[]> {
  return inTurns(measureBudget, comparison, onRun, signal);
}

/** The middle value, which one disturbed round does not move. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** The medians of each part over the rounds; a part that a round does not have counts as 0 there. */
export function medianParts(rounds: readonly (readonly Part[])[]): ReadonlyMap<string, number> {
  const names = new Set(rounds.flatMap((parts) => parts.map(({ name }) => name)));
  return new Map(
    [...names].map((name) => [
      name,
      median(rounds.map((parts) => parts.find((part) => part.name === name)?.microseconds ?? 0)),
    ]),
  );
}
