import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Command, Option } from '@commander-js/extra-typings';
import { createRandom } from '../../emulator/random.ts';
import { describeError } from '../../src/lib/errors.ts';
import { hasRedisServer } from '../support/redis.ts';
import { drawFault } from './draw.ts';
import { FAULTS, type Fault } from './faults.ts';
import { FULL, SHORT } from './pauses.ts';
import { createPayloads } from './payloads.ts';
import { createProgress, type Progress, type RowProgress } from './progress.ts';
import { describeVerdict, formatRows, formatTotal } from './report.ts';
import type { Row, RowResult } from './row.ts';
import { runFault, type Conditions } from './run-fault.ts';
import { SET_UP_NAMES, type SetUpName } from './set-up.ts';
import { exitNow, print, runInLanes, runScript } from '../support/script.ts';
import { whole } from '../support/whole.ts';

/** Choices of `--only` beside the names of faults and set-ups: the faults that are drawn. */
const RANDOM = 'random';

const command = new Command('npm run test:faults --')
  .description(
    'Loads the program, injects a fault, heals it, and looks for every delivery that was answered as kept: ' +
      'each must be in Postgres exactly once. Exit code 1 when one is lost or doubled that must not be.',
  )
  .option('--short', 'shorter pauses and less load: all of it within 6 minutes', false)
  .addOption(
    new Option('--only <names...>', 'these faults and set-ups only').choices([
      ...FAULTS.map(({ name }) => name),
      ...SET_UP_NAMES,
      RANDOM,
    ]),
  )
  .option('--random <rounds>', 'draws of two or three faults at a time (default: 4, with --short 1)', whole)
  .option(
    '--seed <number>',
    'what the draws and the payloads come from (default: chosen, and printed)',
    whole,
  )
  .option('--list', 'print the rows instead of running them', false)
  .option('--json <file>', 'also write the rows to this file')
  .action(async (options) => {
    const seed = options.seed ?? randomInt(1_000_000);
    const plan = planRows({ ...options, seed });
    if (options.list) return print(plan.map(({ setUp, fault }) => `${setUp}  ${fault.name}`).join('\n'));
    print(`seed ${seed}: ${plan.length} rows`);
    await runScript(async (signal) => {
      using progress = createProgress(process.stderr);
      const payloads = createPayloads(createRandom(seed, 'payloads'));
      const conditions = { pauses: options.short ? SHORT : FULL, payloads, signal };
      const rows = await runInLanes(plan, conditions.pauses.rowsAtATime, (planned) =>
        runRow(planned, progress, conditions),
      );
      print(`\n${formatRows(rows)}\n\n${formatTotal(rows)}`);
      await writeJson(options.json, { measuredAt: new Date(), seed, short: options.short, rows });
      return rows.every(({ verdict }) => verdict !== 'FAILED');
    });
  });

interface Planned {
  readonly setUp: SetUpName;
  readonly fault: Fault;
}

interface Choice {
  readonly short: boolean;
  readonly seed: number;
  readonly only?: readonly string[] | undefined;
  readonly random?: number | undefined;
}

/** Each fault alone on each set-up that it applies to, then what is drawn, on the set-ups in turn. */
function planRows({ short, seed, only = [], random }: Choice): Planned[] {
  const setUps = chosen(SET_UP_NAMES, only);
  const isAsked = (name: string) => only.every((asked) => isSetUpName(asked)) || only.includes(name);
  const alone = setUps.flatMap((setUp) =>
    FAULTS.filter(({ name, setUps }) => setUps.includes(setUp) && isAsked(name)).map((fault) => ({
      setUp,
      fault,
    })),
  );
  const rounds = random ?? (isAsked(RANDOM) ? (short ? 1 : 4) : 0);
  const drawn = Array.from({ length: rounds }, (_, round) => {
    const setUp = setUps[round % setUps.length] ?? 'redis-queue';
    return { setUp, fault: drawFault(setUp, createRandom(seed, `draw ${round}`)) };
  });
  return [...alone, ...drawn];
}

const isSetUpName = (name: string) => SET_UP_NAMES.some((known) => known === name);

/** The names that were asked for; all when none of this kind was. */
function chosen<Name extends string>(names: readonly Name[], only: readonly string[]): readonly Name[] {
  const asked = names.filter((name) => only.includes(name));
  return asked.length > 0 ? asked : names;
}

async function runRow({ setUp, fault }: Planned, progress: Progress, conditions: Conditions): Promise<Row> {
  const said = progress.row(`${setUp} ${fault.name}`);
  const result = await judgeRow(setUp, fault, said, conditions);
  const row = { setUp, fault: fault.name, ...result };
  said.end(describeVerdict(row));
  return row;
}

/** A row that could not be run to its end has failed; the others go on. */
async function judgeRow(
  setUp: SetUpName,
  fault: Fault,
  progress: RowProgress,
  conditions: Conditions,
): Promise<RowResult> {
  if (setUp === 'redis-queue' && !hasRedisServer()) {
    return { verdict: 'skipped', remark: 'no redis-server on PATH' };
  }
  try {
    return await runFault(setUp, fault, progress, conditions);
  } catch (error) {
    conditions.signal.throwIfAborted();
    return { verdict: 'FAILED', remark: describeError(error) };
  }
}

async function writeJson(file: string | undefined, content: object): Promise<void> {
  if (file === undefined) return;
  await writeFile(file, `${JSON.stringify(content, undefined, 2)}\n`);
}

await command.parseAsync();
exitNow();
