import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { describeError } from '../src/lib/errors.ts';
import { budgetAgainst, measureAgainst } from './against-base.ts';
import { measureArchive } from './archive.ts';
import { CONNECTIONS } from './apply-load.ts';
import { measureBacklog } from './backlog.ts';
import { measureBeside } from './beside.ts';
import { BUDGET_TARGETS, BUDGET_WORKLOADS, measureBudget } from './budget.ts';
import type { Budget } from './budget.ts';
import { documentBudgets } from './document.ts';
import { measureForwarding } from './forward.ts';
import { describeMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { measure } from './measure.ts';
import type { Measurement } from './measure.ts';
import {
  compare,
  formatAgainst,
  formatArchiveRead,
  formatBacklog,
  formatBudget,
  formatBudgetsAgainst,
  formatComparison,
  formatForwarded,
  formatMachine,
  formatSample,
  formatSearched,
  formatSoak,
  isWrong,
} from './report.ts';
import { formatBeside } from './report-beside.ts';
import { measureSearch } from './search.ts';
import { soak } from './soak.ts';
import { missingFor, TARGET_NAMES, TARGETS } from './targets/all.ts';
import type { TargetName } from './targets/all.ts';
import { WORKLOAD_NAMES } from './workloads.ts';

/** The workloads of a comparison with another checkout. */
const AGAINST_WORKLOADS = ['audit-1', 'audit-1-basic', 'audit-20'] as const;

/** The default time of filling the database for forwarding. */
const FILL_SECONDS = 10;

const program = new Command('npm run bench --')
  .description(
    'Compare xiq-sink, on Redis and on its embedded database, with a plain receiver under the same load. ' +
      `The load is ${CONNECTIONS} connections that each send the next delivery when the last is answered. Every body is different.`,
  )
  .option('--seconds <number>', 'duration of each measured load', positive, 10)
  .addOption(
    new Option('--only <names...>', 'measure only these targets and workloads').choices([
      ...TARGET_NAMES,
      ...WORKLOAD_NAMES,
    ]),
  )
  .option(
    '--budget',
    'instead: report the processor time per delivery by part of the program, database, queue and sender (Linux)',
  )
  .option('--document', 'also write the table into docs/performance.md (with --budget)')
  .option(
    '--base <folder>',
    'instead: measure this checkout and that of the folder in turns, and report the ratios (also with --budget)',
  )
  .option(
    '--rounds <number>',
    'measurements of each checkout or database (with --base or --beside)',
    positive,
    3,
  )
  .option(
    '--soak <minutes>',
    'instead: load xiq-sink on Redis for this long and report whether its memory grows',
    minutes,
  )
  .option(
    '--backlog <deliveries>',
    'instead: start xiq-sink with this many deliveries in its spool and report how fast it drains them',
    positive,
  )
  .option(
    '--forward [seconds]',
    'instead: store events under full load for this long (default: 10) and report how fast they are forwarded',
    positive,
  )
  .option(
    '--search <events>',
    'instead: fill a database once with this many events and report how fast searches and exports are',
    positive,
  )
  .option(
    '--archive <events>',
    'instead: fill an archive once with a year of this many location events and report how fast questions about it are',
    positive,
  )
  .option(
    '--beside <events>',
    'instead: fill a database with this many events, and report what storing and waiting cost beside them and in an empty one',
    positive,
  )
  .option(
    '--json [file]',
    'also write all results to this file; without a file, print them as JSON instead of tables (--budget: also in a pipe)',
  )
  .action(async ({ json, ...options }) => {
    const signal = interruption();
    const output = outputTo(json ?? (options.budget === true && !process.stdout.isTTY));
    try {
      if (options.base !== undefined) await runAgainst(options.base, options, output, signal);
      else if (options.budget === true) await runBudget(options, output, signal);
      else if (options.soak !== undefined) await runSoak(options.soak, output, signal);
      else if (options.forward !== undefined) await runForward(options.forward, output, signal);
      else if (options.backlog !== undefined) await runBacklog(options.backlog, output, signal);
      else if (options.search !== undefined) await runSearch(options.search, output, signal);
      else if (options.archive !== undefined) await runArchive(options.archive, output, signal);
      else if (options.beside !== undefined) await runBeside(options.beside, options, output, signal);
      else await runComparison(options, output, signal);
    } catch (error) {
      console.error(
        signal.aborted ? 'stopped; servers and temporary files are removed' : describeError(error),
      );
      process.exitCode = 1;
    }
  });

/** Where the results go. */
interface Output {
  /** Shows a text to people. */
  show(text: string): void;
  /** Writes all results as JSON, if that was asked for. */
  save(content: object): Promise<void>;
}

interface Choice {
  readonly seconds: number;
  readonly only?: readonly string[] | undefined;
}

async function runComparison({ seconds, only }: Choice, output: Output, signal: AbortSignal): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  const targets = available(chosen(TARGET_NAMES, only), machine, output);
  const measurements: Measurement[] = [];
  for (const workload of chosen(WORKLOAD_NAMES, only)) {
    for (const target of targets) {
      console.error(`${workload}: ${TARGETS[target].title} ...`);
      measurements.push(await measure(target, workload, seconds, signal));
    }
  }
  const compared = compare(measurements);
  output.show(`\n${formatComparison(compared)}`);
  await output.save({ machine, load: { connections: CONNECTIONS, seconds }, measurements: compared });
  refuseWrong(measurements);
}

async function runBudget(
  { seconds, only, document }: Choice & { readonly document?: true | undefined },
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const machine = await describeMachine(signal);
  const targets = available(chosen(BUDGET_TARGETS, only), machine, output);
  const budgets: Budget[] = [];
  for (const workload of chosen(WORKLOAD_NAMES, only, BUDGET_WORKLOADS)) {
    for (const target of targets) {
      console.error(`${workload}: ${TARGETS[target].title} ...`);
      const budget = await measureBudget(target, workload, seconds, signal);
      output.show(`\n${formatBudget(budget)}`);
      budgets.push(budget);
    }
  }
  await output.save({ machine, load: { connections: CONNECTIONS, seconds }, budgets });
  if (document === true) await documentBudgets(machine, budgets);
}

async function runAgainst(
  base: string,
  { seconds, rounds, only, budget }: Choice & { readonly rounds: number; readonly budget?: true | undefined },
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const machine = await describeMachine(signal);
  const workloads = chosen(WORKLOAD_NAMES, only, budget === true ? BUDGET_WORKLOADS : AGAINST_WORKLOADS);
  const comparison = {
    base,
    targets: available(chosen(BUDGET_TARGETS, only), machine, output),
    workloads,
    rounds,
    seconds,
  };
  const load = { connections: CONNECTIONS, seconds, rounds };
  if (budget === true) {
    const pairs = await budgetAgainst(comparison, console.error, signal);
    output.show(`\n${formatBudgetsAgainst(pairs)}`);
    await output.save({ machine, load, budgets: pairs });
    return;
  }
  const pairs = await measureAgainst(comparison, console.error, signal);
  output.show(`\n${formatAgainst(pairs)}`);
  await output.save({ machine, load, against: pairs });
  refuseWrong(pairs.flatMap(({ here, base: there }) => [...here, ...there]));
}

/** The targets that can run here. Shows those that are skipped; throws if no target is left. */
function available<Name extends TargetName>(
  targets: readonly Name[],
  machine: Machine,
  output: Pick<Output, 'show'>,
): readonly Name[] {
  const left = targets.filter((target) => {
    const reason = missingFor(target, machine);
    if (reason !== undefined) output.show(`skipped: ${TARGETS[target].title} (${reason})`);
    return reason === undefined;
  });
  if (left.length === 0) throw new Error('none of the chosen targets can run on this machine');
  return left;
}

function refuseWrong(measurements: readonly Measurement[]): void {
  if (!measurements.some(isWrong)) return;
  throw new Error('the rows in Postgres do not match the acknowledged deliveries: see "rows stored"');
}

async function runSoak(minutes: number, output: Output, signal: AbortSignal): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  if (machine.redis === undefined) throw new Error('--soak needs redis-server on PATH');
  const result = await soak(minutes, (sample) => output.show(formatSample(sample)), signal);
  output.show(formatSoak(result));
  await output.save({ machine, load: { connections: CONNECTIONS, seconds: minutes * 60 }, soak: result });
}

async function runBacklog(deliveries: number, output: Output, signal: AbortSignal): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  if (machine.redis === undefined) throw new Error('--backlog needs redis-server on PATH');
  const backlog = await measureBacklog(deliveries, signal);
  output.show(formatBacklog(backlog));
  await output.save({ machine, backlog });
}

async function runForward(seconds: number | true, output: Output, signal: AbortSignal): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  if (machine.redis === undefined) throw new Error('--forward needs redis-server on PATH');
  const forwarded = await measureForwarding(seconds === true ? FILL_SECONDS : seconds, signal);
  output.show(formatForwarded(forwarded));
  await output.save({ machine, forwarded });
}

async function runSearch(events: number, output: Output, signal: AbortSignal): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  const searched = await measureSearch(events, signal);
  output.show(formatSearched(searched));
  await output.save({ machine, searched });
}

async function runArchive(events: number, output: Output, signal: AbortSignal): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  const archive = await measureArchive(events, signal);
  output.show(formatArchiveRead(archive));
  await output.save({ machine, archive });
}

async function runBeside(
  events: number,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const machine = await describeMachine(signal);
  output.show(formatMachine(machine));
  if (machine.redis === undefined) throw new Error('--beside needs redis-server on PATH');
  const beside = await measureBeside(events, { rounds, seconds }, signal);
  output.show(`\n${formatBeside(beside)}`);
  await output.save({ machine, load: { connections: CONNECTIONS, seconds, rounds }, beside });
  refuseWrong([...beside.storing.empty, ...beside.storing.full]);
}

/** To a file beside the tables, or instead of them to standard output (true). */
function outputTo(json: string | boolean): Output {
  return {
    show: (text) => {
      if (json !== true) console.log(text);
    },
    save: async (content) => {
      const text = JSON.stringify({ measuredAt: new Date(), ...content }, undefined, 2);
      if (json === true) console.log(text);
      else if (json !== false) await writeFile(json, `${text}\n`);
    },
  };
}

/** The chosen names; the usual ones if none of this kind was chosen. */
function chosen<Name extends string>(
  names: readonly Name[],
  only: readonly string[] = [],
  usual = names,
): readonly Name[] {
  const asked = names.filter((name) => only.includes(name));
  return asked.length > 0 ? asked : usual;
}

/** Fires at Ctrl-C or SIGTERM. Everything is then stopped and removed in order; further signals change nothing. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('Must be a number greater than 0.');
  return value;
}

function minutes(text: string): number {
  const value = positive(text);
  if (value < 1)
    throw new InvalidArgumentError('Must be at least 1: a shorter run shows nothing about growth.');
  return value;
}

await program.parseAsync();
