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
import { FULL_DISKS } from './scenarios/disk-scenarios.ts';
import { LONG, SHORT, startSharedServer, type Ground } from './ground.ts';
import { POSTGRES_SCENARIOS } from './scenarios/postgres-scenarios.ts';
import { REDIS_SCENARIOS } from './scenarios/redis-scenarios.ts';
import { describeVerdict, formatRows, markdownRows } from './report.ts';
import { REST } from './scenarios/rest-scenario.ts';
import { RESTARTS } from './restarts.ts';
import { runScenario, type Row } from './run-scenario.ts';
import type { OwnScenario, Scenario } from './scenario.ts';
import { LATE_STANDBYS } from './scenarios/standby-scenarios.ts';
import { END_OF_YEAR } from './scenarios/year-scenario.ts';
import { exitNow, print, runInLanes, runScript } from '../support/script.ts';

type AnyScenario = Scenario | OwnScenario;

const SCENARIOS: readonly AnyScenario[] = [
  ...POSTGRES_SCENARIOS,
  ...RESTARTS,
  ...REDIS_SCENARIOS,
  ...LATE_STANDBYS,
  ...FULL_DISKS,
  END_OF_YEAR,
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
    if (list) return print(plan.map(({ name }) => name).join('\n'));
    await runScript(async (signal) => {
      const rows = await runAll(plan, { pace: short ? SHORT : LONG, signal });
      print(`\n${markdown ? markdownRows(rows) : formatRows(rows)}`);
      if (json !== undefined) {
        await writeFile(json, `${JSON.stringify({ measuredAt: new Date(), short, rows }, undefined, 2)}\n`);
      }
      return rows.every(({ isGood }) => isGood);
    });
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

/** Runs the scenarios, so many at a time, then those that need the machine for themselves. */
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
  const together = plan.filter(({ isAlone = false }) => !isAlone);
  const rows = await runInLanes(together, conditions.pace.scenariosAtATime, (one) => runOne(one, shared));
  for (const scenario of plan.filter(({ isAlone = false }) => isAlone))
    rows.push(await runOne(scenario, shared));
  return rows;
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

await command.parseAsync();
exitNow();
