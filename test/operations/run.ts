import { randomInt } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from '@commander-js/extra-typings';
import { createRandom } from '../../emulator/random.ts';
import { describeError } from '../../src/lib/errors.ts';
import { createPayloads, type Payloads } from '../faults/payloads.ts';
import { createProgress, type Progress } from '../faults/progress.ts';
import { temporaryDirectory } from '../support/program.ts';
import { KILLED_BACKUP } from './scenarios/backup-scenario.ts';
import { FULL_DISKS } from './scenarios/disk-scenarios.ts';
import { LONG, SHORT, startSharedServer, type Ground } from './ground.ts';
import { NOISY } from './scenarios/noisy-scenario.ts';
import { POSTGRES_SCENARIOS } from './scenarios/postgres-scenarios.ts';
import { REDIS_SCENARIOS } from './scenarios/redis-scenarios.ts';
import { describeVerdict, formatRows, markdownRows } from './report.ts';
import { REST } from './scenarios/rest-scenario.ts';
import { RESTARTS } from './restarts.ts';
import { runScenario, type Row } from './run-scenario.ts';
import type { OwnScenario, Scenario } from './scenario.ts';
import { HOSTILE_SETTINGS } from './scenarios/settings-scenario.ts';
import { LATE_STANDBYS } from './scenarios/standby-scenarios.ts';
import { END_OF_YEAR } from './scenarios/year-scenario.ts';

type AnyScenario = Scenario | OwnScenario;

const SCENARIOS: readonly AnyScenario[] = [
  ...POSTGRES_SCENARIOS,
  ...RESTARTS,
  ...REDIS_SCENARIOS,
  ...LATE_STANDBYS,
  ...FULL_DISKS,
  KILLED_BACKUP,
  END_OF_YEAR,
  HOSTILE_SETTINGS,
  NOISY,
  REST,
];

const command = new Command('npm run test:operations --')
  .description(
    'Loads the program behind a proxy, restarts it and fails its servers over, and looks for every delivery that was ' +
      'answered as kept: each must be in Postgres exactly once, as it was sent. Exit code 1 if one is not.',
  )
  .option('--short', 'shorter pauses, less load, fewer scenarios, two at a time: within 3 minutes', false)
  .addOption(
    new Option('--only <names...>', 'these scenarios only').choices(SCENARIOS.map(({ name }) => name)),
  )
  .option('--list', 'print the scenarios instead of running them', false)
  .option('--json <file>', 'also write the rows to this file')
  .option('--markdown', 'print the rows as a table of Markdown', false)
  .action(async ({ short, only, list, json, markdown }) => {
    const plan = SCENARIOS.filter(({ name, isLong = false }) =>
      only === undefined ? !(short && isLong) : only.includes(name),
    );
    if (list) return write(plan.map(({ name }) => name).join('\n'));
    const signal = interruption();
    try {
      const rows = await runAll(plan, { pace: short ? SHORT : LONG, signal });
      write(`\n${markdown ? markdownRows(rows) : formatRows(rows)}`);
      if (json !== undefined) {
        await writeFile(json, `${JSON.stringify({ measuredAt: new Date(), short, rows }, undefined, 2)}\n`);
      }
      if (rows.some(({ isGood }) => !isGood)) process.exitCode = 1;
    } catch (error) {
      process.stderr.write(`${signal.aborted ? 'stopped; nothing is left behind' : describeError(error)}\n`);
      process.exitCode = 1;
    }
  });

interface Conditions {
  readonly pace: Ground['pace'];
  readonly signal: AbortSignal;
}

interface Shared extends Conditions {
  readonly directory: string;
  readonly createDatabase: Ground['createDatabase'];
  /** The payloads of one scenario. */
  readonly createPayloads: (clock?: () => number) => Payloads;
  readonly progress: Progress;
}

/** Runs the scenarios, so many at a time, then those that need the machine for themselves. In the order of the plan. */
async function runAll(plan: readonly AnyScenario[], conditions: Conditions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const directory = await temporaryDirectory();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  using progress = createProgress(process.stderr);
  const shared: Shared = {
    ...conditions,
    directory,
    createDatabase: await startSharedServer(directory, stack),
    createPayloads: (clock) => createPayloads(createRandom(randomInt(1_000_000), 'payloads'), clock),
    progress,
  };
  const rows = new Map<AnyScenario, Row>();
  const together = plan.filter(({ isAlone = false }) => !isAlone).values();
  const runOneByOne = async () => {
    for (const scenario of together) rows.set(scenario, await runOne(scenario, shared));
  };
  const lanes = await Promise.allSettled(
    Array.from({ length: conditions.pace.scenariosAtATime }, runOneByOne),
  );
  for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason;
  for (const scenario of plan) {
    if (!rows.has(scenario)) rows.set(scenario, await runOne(scenario, shared));
  }
  return plan.flatMap((scenario) => rows.get(scenario) ?? []);
}

/** A scenario that could not be run to its end has failed; the others go on. */
async function runOne(
  scenario: AnyScenario,
  { directory, createDatabase, createPayloads: create, progress, pace, signal }: Shared,
): Promise<Row> {
  signal.throwIfAborted();
  const said = progress.row(scenario.name);
  let row: Row;
  try {
    await using stack = new AsyncDisposableStack();
    const own = path.join(directory, scenario.name.replaceAll(/\W+/g, '-'));
    await mkdir(own, { mode: 0o711 });
    const wait = (milliseconds: number) => sleep(milliseconds, undefined, { signal });
    const ground = { directory: own, pace, stack, wait, createDatabase };
    if ('run' in scenario) {
      said.phase('running');
      const { wrongs, remark } = await scenario.run(ground);
      const isGood = wrongs.length === 0;
      row = { scenario: scenario.name, isGood, remark: [...wrongs, remark].join('; ') };
    } else {
      row = await runScenario(scenario, ground, create, said, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    row = { scenario: scenario.name, isGood: false, remark: shorten(describeError(error)) };
  }
  said.end(describeVerdict(row));
  return row;
}

/** The end of a long message, which may contain all that a program printed. */
const shorten = (message: string) => (message.length > 300 ? `…${message.trim().slice(-300)}` : message);

/** Fires at Ctrl-C or SIGTERM. What runs is then stopped and thrown away in order; a further signal changes nothing. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

const write = (text: string) => void process.stdout.write(`${text}\n`);

await command.parseAsync();
// As in the fault suite: a socket of a killed server must not keep this program.
process.stdout.write('', () => process.exit());
