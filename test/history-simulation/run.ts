import { registerHooks } from 'node:module';
import { Command } from '@commander-js/extra-typings';
import { whole } from '../support/whole.ts';
import type { Outcome } from './simulate.ts';

/** The comparison, the schedule and the coverage are the program's own; its tables are in memory. */
const STORE = import.meta.resolve('../../src/store/reconcile/history.ts');
const MEMORY = import.meta.resolve('./memory-history.ts');

/** Failures of one run that are printed. */
const MOST_SHOWN = 5;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url === STORE ? { ...resolved, url: MEMORY } : resolved;
  },
});

await new Command('npm run test:history --')
  .description(
    'Simulates the cloud and this service, with lost, late and doubled webhooks, late log records and outages, and ' +
      'checks that every event is stored once, in time, and that no quarter of an hour is falsely called complete, also if lists of the cloud are wrong. ' +
      'Exit code 1 if a run failed.',
  )
  .option('--runs <number>', 'number of runs (default: 1000, with --seed 1)', whole)
  .option('--events <number>', 'events of each run', whole, 1_000)
  .option('--seed <number>', 'seed of the first run; each further run adds 1', whole)
  .action(async ({ runs, events, seed }) => {
    const { simulate } = await import('./simulate.ts');
    const { createMemoryStorage } = await import('./memory-storage.ts');
    const count = runs ?? (seed === undefined ? 1_000 : 1);
    const outcomes: Outcome[] = [];
    for (let run = seed ?? 0; run < (seed ?? 0) + count; run += 1) {
      const outcome = await simulate(run, events, createMemoryStorage());
      outcomes.push(outcome);
      if (process.stderr.isTTY) process.stderr.write(`\r${outcomes.length} of ${count} runs`);
      for (const failure of outcome.failures.slice(0, MOST_SHOWN)) write(`FAILED --seed ${run}: ${failure}`);
      if (outcome.failures.length > MOST_SHOWN) write(`  and ${outcome.failures.length - MOST_SHOWN} more`);
    }
    if (process.stderr.isTTY) process.stderr.write('\r');
    write(describe(outcomes));
    if (outcomes.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
  })
  .parseAsync();

function describe(outcomes: readonly Outcome[]): string {
  const sum = (of: (outcome: Outcome) => number) =>
    outcomes.reduce((all, one) => all + of(one), 0).toLocaleString('en');
  const healMs = outcomes.flatMap((one) => one.healMs).sort((a, b) => a - b);
  const minutes = (share: number) =>
    ((healMs[Math.ceil(healMs.length * share) - 1] ?? 0) / 60_000).toFixed(1);
  const failed = outcomes.filter(({ failures }) => failures.length > 0).length;
  return (
    `${outcomes.length.toLocaleString('en')} runs, ${failed} failed: ${sum((one) => one.events)} events, ` +
    `${sum((one) => one.dropped)} webhooks dropped, ${sum((one) => one.fetched)} events fetched within ` +
    `p50 ${minutes(0.5)} min, p99 ${minutes(0.99)} min, at most ${minutes(1)} min; ` +
    `at most ${Math.max(...outcomes.map((one) => one.mostCallsAnHour))} calls in an hour\n` +
    describeStates('all', outcomes) +
    [...Map.groupBy(outcomes, ({ troubles }) => troubles.toSorted().join(', ') || 'honest lists')]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([troubles, some]) => describeStates(troubles, some))
      .join('')
  );
}

/** The share of quarters in each state. */
function describeStates(name: string, outcomes: readonly Outcome[]): string {
  const counts = new Map<string, number>();
  for (const [state, count] of outcomes.flatMap(({ quarters }) => [...quarters])) {
    counts.set(state, (counts.get(state) ?? 0) + count);
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const share = (state: string) => `${((100 * (counts.get(state) ?? 0)) / all).toFixed(1)}% ${state}`;
  const states = ['whole', 'healed', 'not comparable', 'pending'].map(share).join(', ');
  return `  ${name} (${outcomes.length}): ${states}\n`;
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
