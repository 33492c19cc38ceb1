import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describeError } from '../../src/lib/errors.ts';
import type { RowProgress } from '../faults/progress.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Place, Site } from './place.ts';
import { endProcessesIn, processesIn } from './processes.ts';
import type { Row } from './report.ts';
import { run, type Shell } from './shell.ts';
import { startService, type StartedService } from './start-service.ts';

export interface Conditions {
  readonly env: Shell['env'];
  readonly isShort: boolean;
  /** Gets the complete output. */
  readonly logFile: string;
  readonly signal: AbortSignal;
}

/** Without Postgres, and with it. */
const SUBSET = 'test/lib/text/csv.test.ts test/store/access/operator-log.test.ts';

/** On Ctrl-C, the program ends with 0, and npm with 130 as soon as the program has ended. */
const GOOD_ENDS: ReadonlySet<number> = new Set([0, 130]);

/** A row that is filled in as far as the place comes. */
type Findings = { -readonly [Key in keyof Row]: Row[Key] };

/** Runs the README's commands in one place, and removes the place. Rejects only if the signal fires. */
export async function tryPlace(place: Place, conditions: Conditions, progress: RowProgress): Promise<Row> {
  const { title, obstacle, tests } = place;
  const skipped = obstacle?.();
  if (skipped !== undefined) return { title, failures: [], skipped };
  const { isShort, signal } = conditions;
  const failures: string[] = [];
  const findings: Findings = { title, failures };
  const attempt = async (step: () => Promise<void>) => {
    try {
      await step();
    } catch (error) {
      signal.throwIfAborted();
      failures.push(describeError(error));
    }
  };
  await attempt(async () => {
    await using stack = new AsyncDisposableStack();
    progress.phase('checkout');
    const { site, directory } = await openPlace(place, conditions, stack);
    progress.phase('install');
    const began = performance.now();
    await run(site.shell, site.install, 600);
    findings.installSeconds = secondsSince(began);
    await attempt(() => tryServices(site, directory, findings, progress));
    if (tests === undefined) return;
    progress.phase('npm test');
    await attempt(() => runTests(site, isShort ? 'subset' : tests, findings));
  });
  return findings;
}

async function openPlace(
  { parent = os.tmpdir(), open }: Place,
  { env, logFile, signal }: Conditions,
  stack: AsyncDisposableStack,
): Promise<{ site: Site; directory: string }> {
  const log = createWriteStream(logFile);
  stack.defer(async () => {
    log.end();
    await once(log, 'close');
  });
  const directory = await mkdtemp(path.join(parent, 'xiq-sink-anywhere-'));
  await chmod(directory, 0o755);
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const shell = { directory, env, enter: [], log, signal };
  const own = stack.use(new AsyncDisposableStack());
  const uninterrupted = { ...shell, signal: new AbortController().signal };
  const afterwards = (line: string) => own.defer(async () => void (await run(uninterrupted, line, 60)));
  // Before all that the place has for afterwards.
  stack.defer(() => endProcessesIn(directory));
  const site = await open({ directory, shell, afterwards });
  return { site, directory };
}

/** Starts all services of the place, stores a first event in each, and stops them. */
async function tryServices(
  site: Site,
  directory: string,
  findings: Findings,
  progress: RowProgress,
): Promise<void> {
  progress.phase('start');
  const began = performance.now();
  const started = await Promise.all(site.services.map((settings) => startService(site, settings)));
  findings.readySeconds = Math.max(...started.map(({ readySeconds }) => readySeconds));
  progress.phase('first event');
  for (const service of started) await storeFirstEvent(site, service);
  findings.firstEventSeconds = secondsSince(began);
  progress.phase('stop');
  for (const code of await Promise.all(started.map(({ terminal }) => terminal.pressCtrlC()))) {
    if (code === null || !GOOD_ENDS.has(code)) throw new Error(`${site.start} ended with ${code} on Ctrl-C`);
  }
  await expectNoProcess(directory);
}

/** Runs the printed lines as they are. */
async function storeFirstEvent(site: Site, { screen }: StartedService): Promise<void> {
  const receipt = await run(site.curlShell ?? site.shell, screen.curlLine, 20);
  if (!receipt.includes('"durability"')) throw new Error(`the curl line was answered with ${receipt}`);
  // What the record of the curl line contains.
  const isShown = async () => (await run(site.shell, screen.queryLine, 20)).includes('admin@example.com');
  await waitFor(isShown, 10_000).catch((cause: unknown) => {
    throw new Error(`\`${screen.queryLine}\` does not show the first event`, { cause });
  });
}

async function expectNoProcess(directory: string): Promise<void> {
  try {
    await waitFor(async () => (await processesIn(directory)).length === 0, 5_000);
  } catch (cause) {
    throw new Error(`the stopped service left processes: ${(await processesIn(directory)).join(', ')}`, {
      cause,
    });
  }
}

async function runTests(site: Site, extent: 'subset' | 'whole', findings: Findings): Promise<void> {
  const began = performance.now();
  let hasPassed = false;
  try {
    await run(site.shell, extent === 'whole' ? 'npm test' : `npm test -- ${SUBSET}`, 1_800);
    hasPassed = true;
  } finally {
    findings.tests = { extent, hasPassed, seconds: secondsSince(began) };
  }
}

const secondsSince = (began: number) => (performance.now() - began) / 1_000;
