import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './faults.ts';
import { startLoad } from './load.ts';
import type { Pauses } from './pauses.ts';
import type { Payloads } from './payloads.ts';
import type { RowProgress } from './progress.ts';
import { verdictOver, type RowResult } from './row.ts';
import { settle } from './settle.ts';
import { openSetUp, type SetUp, type SetUpName } from './set-up.ts';
import { verifySeal } from './verify-seal.ts';

/** What every row is run with. */
export interface Conditions {
  readonly pauses: Pauses;
  readonly payloads: Payloads;
  readonly signal: AbortSignal;
}

/** What is lost on purpose is not waited for as long as what another worker will take over. */
const HOPELESS_IDLE_MS = 5_000;

/** The seal waits for a quiet moment, at most 40 s while much is stored. */
const SEAL_MS = 90_000;

/** Runs one fault on a set-up of its own: load, fault, healing, load, the end of the load, the judgement, and the seal. */
export async function runFault(
  name: SetUpName,
  fault: Fault,
  progress: RowProgress,
  { pauses, payloads, signal }: Conditions,
): Promise<RowResult> {
  const reason = await fault.whyNot?.();
  if (reason !== undefined) return { verdict: 'skipped', remark: reason };

  progress.phase('starting');
  await using setUp = await openSetUp(name, fault.needs, signal);
  const wait = (milliseconds: number) => sleep(milliseconds, undefined, { signal });
  const load = startLoad(setUp.origin, payloads, pauses.rate);
  let stopped: ReturnType<typeof load.stop> | undefined;
  try {
    progress.phase('load', () => `${load.ledger.sent} sent`);
    await wait(pauses.before);
    progress.phase('fault', () => `${load.ledger.sent} sent`);
    await fault.inject(setUp, pauses, wait);
    progress.phase('healed', () => `${load.ledger.sent} sent`);
    await wait(pauses.after);
  } finally {
    stopped = load.stop();
  }
  const times = await stopped;

  const { obligations, ...counts } = load.ledger;
  let stored = 0;
  progress.phase('settling', () => `${stored} stored of ${obligations.length} owed`);
  const patience = fault.forbids.includes('lost') ? pauses : { ...pauses, idle: HOPELESS_IDLE_MS };
  const judgement = await settle(
    setUp.postgres.url(),
    obligations,
    patience,
    (count) => (stored = count),
    signal,
  );
  progress.phase('verifying');
  const seal = await verifySeal(setUp.postgres.url(), SEAL_MS, signal);
  const result = verdictOver(fault, { ...counts, ...times, ...judgement, seal }, crashedOf(setUp));
  if (result.verdict === 'FAILED') {
    progress.line(`output of the programs: ${await keepOutput(`${name}-${fault.name}`, setUp)}`);
  }
  return result;
}

const programsOf = ({ ingest, workers }: SetUp) =>
  [['ingest', ingest], ...workers.map((worker, index) => [`worker ${index + 1}`, worker] as const)] as const;

const crashedOf = (setUp: SetUp) =>
  programsOf(setUp).flatMap(([name, program]) => (program.hasCrashed() ? [name] : []));

/** What the programs printed outlives a row that failed: it is all there is to find out why. */
async function keepOutput(title: string, setUp: SetUp): Promise<string> {
  const file = path.join(os.tmpdir(), `xiq-sink-${title.replaceAll(/[^\w-]+/g, '-')}.log`);
  const parts = programsOf(setUp).map(([name, program]) => `--- ${name}\n${program.output()}`);
  await writeFile(file, parts.join('\n'));
  return file;
}
