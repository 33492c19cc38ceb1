import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Argument, Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { randomInt } from 'node:crypto';
import { createRandom, type Random } from '../../emulator/random.ts';
import { describeError } from '../../src/lib/errors.ts';
import { readReport, unexplained } from './survivors.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Stryker is installed here, so that nobody else waits for its 177 packages. */
const TOOLS = path.join(import.meta.dirname, 'node_modules');

/** Columns and their types, which a test reads as text: Stryker would write the whole file anew. */
const TYPES = 'src/store/server/schema/*tables.ts';

await new Command('npm run test:mutations --')
  .description(
    'Puts one mistake at a time into the code of a room, and runs the room’s tests of the default suite. ' +
      'Exit code 1 if they do not notice one that test/mutations/accepted.yaml does not explain.',
  )
  .addArgument(new Argument('<room>', 'a directory of src/, such as ingest or store/log').argParser(roomOf))
  .option('--tests <directories...>', 'with the tests of these directories of test/, too', roomsOf)
  .option('--lines <number>', 'only in so many lines, drawn by the seed', wholeNumber)
  .option('--seed <number>', 'what the lines are drawn by (default: chosen, and printed)', wholeNumber)
  .action(async (room, { lines, tests = [], seed = randomInt(1_000_000) }) => {
    const random = createRandom(seed, 'lines');
    const mutate =
      lines === undefined ? [`src/${room}/**/*.ts`, `!${TYPES}`] : await drawLines(room, lines, random);
    if (lines !== undefined) print(`seed ${seed}: ${mutate.length} lines of src/${room}`);
    if (!existsSync(TOOLS)) await run('npm', ['ci'], import.meta.dirname);
    // For the configuration of Vitest, which Stryker reads.
    process.env['TESTS_OF'] = [room, ...tests].join();
    if (!(await mutateRoom(room, mutate, lines === undefined))) process.exitCode = 1;
  })
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 2;
  });

/** Runs Stryker, and prints what it found. True if every mistake is noticed or explained. */
async function mutateRoom(room: string, mutate: readonly string[], isWhole: boolean): Promise<boolean> {
  const directory = await mkdtemp(path.join(tmpdir(), 'mutations-'));
  try {
    const [config, report] = [
      path.join(directory, 'stryker.config.json'),
      path.join(directory, 'report.json'),
    ];
    await writeFile(config, JSON.stringify(optionsOf(room, mutate, isWhole, report)));
    await run(path.join(TOOLS, '.bin/stryker'), ['run', config], ROOT);
    const { total, survivors } = await readReport(report);
    const left = await unexplained(survivors);
    for (const { file, at, line, mutation } of left) print(`${file}:${at}  ${line}\n    ${mutation}`);
    const noticed = total - survivors.length;
    const rate = total === 0 ? '' : ` (${((100 * noticed) / total).toFixed(0)} %)`;
    print(
      `${room}: ${noticed} of ${total} mistakes noticed${rate}, ${survivors.length - left.length} explained`,
    );
    return left.length === 0;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** https://stryker-mutator.io/docs/stryker-js/configuration */
function optionsOf(room: string, mutate: readonly string[], isWhole: boolean, report: string) {
  return {
    mutate,
    testRunner: 'vitest',
    // In a thread, a test could not set the time zone.
    vitest: { configFile: 'test/mutations/vitest.config.ts', related: false, pool: 'forks' },
    coverageAnalysis: 'perTest',
    // Many directories take longer than the usual five.
    dryRunTimeoutMinutes: 30,
    // No test compares a message word by word.
    mutator: { excludedMutations: ['StringLiteral'] },
    // It would rewrite tsconfig.json with functions that TypeScript 7 no longer has.
    tsconfigFile: 'none',
    ignorePatterns: ['/data', '/bench/results'],
    // The report has what earlier runs found, too: the rate of some lines would not be theirs.
    incremental: isWhole,
    incrementalFile: path.join(TOOLS, '.cache', `${room.replaceAll('/', '-')}.json`),
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: report },
  };
}

/** So many lines of code, as patterns of Stryker. */
async function drawLines(room: string, count: number, random: Random): Promise<string[]> {
  const lines: string[] = [];
  const files = await Array.fromAsync(glob(`src/${room}/**/*.ts`, { cwd: ROOT, exclude: [TYPES] }));
  for (const file of files.sort()) {
    const text = await readFile(path.join(ROOT, file), 'utf8');
    for (const [index, line] of text.split('\n').entries()) {
      if (/^\s*(?:$|\/?\*|\/\/|import |export (?:interface|type) |[{}()[\];,]+$)/.test(line)) continue;
      lines.push(`${file}:${index + 1}-${index + 1}`);
    }
  }
  const drawn: string[] = [];
  while (drawn.length < count && lines.length > 0) {
    drawn.push(...lines.splice(random.int(0, lines.length - 1), 1));
  }
  return drawn;
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2] });
  await once(child, 'exit');
  if (child.exitCode !== 0) {
    throw new Error(`${path.basename(command)} ended with exit code ${child.exitCode}. Its output is above.`);
  }
}

function roomOf(text: string): string {
  if (existsSync(path.join(ROOT, 'src', text)) && existsSync(path.join(ROOT, 'test', text))) return text;
  throw new InvalidArgumentError('It must be a directory of src/ that has one of the same name in test/.');
}

function roomsOf(text: string, earlier: readonly string[] = []): readonly string[] {
  if (existsSync(path.join(ROOT, 'test', text))) return [...earlier, text];
  throw new InvalidArgumentError('It must be a directory of test/.');
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
