import { availableParallelism } from 'node:os';
import { Command } from '@commander-js/extra-typings';
import { createRandom } from '../../emulator/random.ts';
import { describeCoverage, type Coverage } from './coverage.ts';
import { describeFault } from './faults.ts';
import { PLANTS } from './plants.ts';
import { OF_A_RUN } from './set-up.ts';
import { shrink } from './shrink.ts';
import { drawHistory, type History, type Outcome } from './simulate.ts';
import { SimulatingThread } from './threads.ts';
import { whole } from '../support/whole.ts';

/** A third of the runs are dense: much is on the way at once, and more deliveries share what time alone costs. */
const OF_A_DENSE_RUN = 10_000;
const mostOf = (seed: number) => (createRandom(seed, 'density').chance(1 / 3) ? OF_A_DENSE_RUN : OF_A_RUN);

/** Of runs that look for a planted fault. */
const OF_A_PLANTED_RUN = 400;

const SHRINK_MS = 120_000;
const PLANT_FOUND_WITHIN_S = 60;
const MOST_SHOWN = 5;

const write = (line: string) => void process.stdout.write(`${line}\n`);

await new Command('npm run simulate --')
  .description(
    "Runs the program's own ingest, queue, spool and storing code in simulated processes, on simulated time, disks, queue " +
      'and database, with drawn faults, and checks that every acknowledged delivery is stored once. The same seed always ' +
      'does the same. Exit code 1 if a run failed.',
  )
  .option('--seed <number>', 'seed of the first run; each further run adds 1 (default: drawn)', whole)
  .option(
    '--deliveries <number>',
    `deliveries to simulate, up to ${OF_A_RUN} in a run, ${OF_A_DENSE_RUN} in a third of them`,
    whole,
    100_000,
  )
  .option('--seconds <number>', 'begin no run after so long', whole)
  .option('--threads <number>', 'runs at a time', whole, 1)
  .option('--plant <name>', 'put this fault into the program')
  .option('--planted', 'put each known fault into the program in turn, and say how long it takes to find it')
  .option('--coverage', 'print how much of the simulated code was executed')
  .option('--log', 'print what happens in the first run')
  .action(async ({ seed = Math.floor(Math.random() * 2 ** 31), planted = false, ...options }) => {
    write(`seed ${seed}`);
    const isGood = planted ? await findPlanted(seed) : await search(seed, options);
    if (!isGood) process.exitCode = 1;
  })
  .parseAsync();

interface Search {
  readonly deliveries: number;
  readonly seconds?: number | undefined;
  readonly threads: number;
  readonly plant?: string | undefined;
  readonly log?: boolean | undefined;
  readonly coverage?: boolean | undefined;
}

/** Simulates until all deliveries are sent, time is up, or a run fails. */
async function search(seed: number, options: Search) {
  const { deliveries, seconds = Infinity, threads, plant, log } = options;
  const coverage: Coverage | undefined = options.coverage === true ? new Map() : undefined;
  const began = performance.now();
  const outcomes: Outcome[] = [];
  let failed: Outcome | undefined;
  let next = seed;
  let left = deliveries;
  const isOver = () => failed !== undefined || left === 0 || performance.now() - began > seconds * 1_000;
  const work = async () => {
    const thread = new SimulatingThread({ plant, isLogged: log, coverage });
    while (!isOver()) {
      const history = drawHistory(next, Math.min(mostOf(next), left));
      next += 1;
      left -= history.deliveries;
      const outcome = await thread.simulate(history);
      outcomes.push(outcome);
      for (const line of outcome.lines) write(line);
      if (outcome.failures.length > 0) failed ??= outcome;
    }
    await thread.end();
  };
  await Promise.all(Array.from({ length: threads }, work));
  write(describe(outcomes, (performance.now() - began) / 1_000));
  if (coverage !== undefined) write(describeCoverage(coverage));
  if (failed !== undefined) await explain(failed, plant);
  return failed === undefined;
}

/** Prints what failed, and all that happens in the shortest history that still does. */
async function explain({ history, failures }: Outcome, plant: string | undefined): Promise<void> {
  write(`\nFAILED: npm run simulate -- --seed ${history.seed} --deliveries ${history.deliveries}`);
  for (const failure of failures.slice(0, MOST_SHOWN)) write(`  ${failure}`);
  const thread = new SimulatingThread({ plant });
  const run = (next: History) => thread.simulate(next);
  const shortest = await shrink(history, run, performance.now() + SHRINK_MS);
  await thread.end();
  write(
    `\nthe shortest history found: ${shortest.deliveries} deliveries, and ${shortest.faults.length} faults`,
  );
  for (const fault of shortest.faults) write(`  ${describeFault(fault)}`);
  const logged = new SimulatingThread({ plant, isLogged: true });
  const { lines, failures: last } = await logged.simulate(shortest);
  await logged.end();
  for (const line of [...lines, ...last.slice(0, MOST_SHOWN)]) write(line);
}

/** Looks for each planted fault until it is found. Resolves with whether all were, within a minute each. */
async function findPlanted(seed: number): Promise<boolean> {
  let areAllFound = true;
  for (const { name } of PLANTS) {
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1_000;
    let found: Outcome | undefined;
    let run = 0;
    const work = async () => {
      const thread = new SimulatingThread({ plant: name });
      for (; found === undefined && seconds() < PLANT_FOUND_WITHIN_S; run += 1) {
        const outcome = await thread.simulate(drawHistory(seed + run, OF_A_PLANTED_RUN));
        if (outcome.failures.length > 0) found ??= outcome;
      }
      await thread.end();
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
    areAllFound &&= found !== undefined;
    const how = found === undefined ? 'NOT FOUND' : (found.failures[0] ?? '').slice(0, 100);
    write(
      `${name.padEnd(32)} ${seconds().toFixed(1).padStart(5)} s, ${String(run).padStart(2)} runs: ${how}`,
    );
  }
  return areAllFound;
}

function describe(outcomes: readonly Outcome[], seconds: number): string {
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((all, one) => all + of(one), 0);
  const deliveries = sum(({ history }) => history.deliveries);
  const { user, system } = process.cpuUsage();
  const cpuSeconds = (user + system) / 1_000_000;
  const kinds = Map.groupBy(
    outcomes.flatMap(({ history }) => history.faults),
    ({ kind }) => kind,
  );
  const answers = (['accepted', 'kept', 'refused', 'unanswered'] as const)
    .map((answer) => `${sum((one) => one.answers[answer]).toLocaleString('en')} ${answer}`)
    .join(', ');
  const faults = [...kinds]
    .map(([kind, all]) => `  ${String(all.length).padStart(6)} ${kind}`)
    .toSorted()
    .toReversed();
  return [
    `${outcomes.length} runs, ${deliveries.toLocaleString('en')} deliveries: ${answers}`,
    `${(sum((one) => one.simulatedMs) / 3_600_000).toFixed(1)} hours in ${seconds.toFixed(0)} s, ${sum((one) => one.lives)} lives of processes`,
    `${(deliveries / seconds).toFixed(0)} deliveries a second, ${(deliveries / cpuSeconds).toFixed(0)} of a second of processor time`,
    `traces ${outcomes
      .slice(0, 3)
      .map(({ trace }) => trace)
      .join(' ')}`,
    'faults:',
    ...faults,
  ].join('\n');
}
