import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { countRefused, type Ledger, type Obligation } from '../faults/ledger.ts';
import { startLoad, type LoadTimes } from '../faults/load.ts';
import type { Payload, Payloads } from '../faults/payloads.ts';
import type { RowProgress } from '../faults/progress.ts';
import { settle } from '../faults/settle.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Fleet } from './fleet.ts';
import type { Ground } from './ground.ts';
import { countWrong, findMissing, findUnforwarded, readEvents, UUIDS } from './oracle.ts';
import type { Scenario, Stage } from './scenario.ts';
import { readSpools } from './waiting.ts';

/** What a scenario came to. */
export interface Measured extends Omit<Ledger, 'obligations'>, LoadTimes {
  /** Acknowledged, and neither stored nor waiting anywhere. */
  readonly lost: number;
  /** Events with more than one row, and bodies that are in quarantine more than once. */
  readonly doubled: number;
  /** Rows that are not what was sent. */
  readonly wrong: number;
  /** Acknowledged, and still in the queue or a spool; or stored, and not forwarded. */
  readonly stuck: number;
}

/** One line of the table. */
export interface Row {
  readonly scenario: string;
  readonly isGood: boolean;
  readonly remark: string;
  /** Undefined when the scenario was not run to its end. */
  readonly measured?: Measured;
}

/** Obligations are waited for so long after the last that was met, and so long in all. */
const PATIENCE = { idle: 20_000, settle: 90_000 };

/** What is lost on purpose is not waited for as long. */
const HOPELESS = { idle: 5_000, settle: 90_000 };

/** Runs one scenario: load, operation, load, the end of the load, and the judgement. */
export async function runScenario(
  scenario: Scenario,
  ground: Ground,
  createPayloads: (clock?: () => number) => Payloads,
  progress: RowProgress,
  signal: AbortSignal,
): Promise<Row> {
  progress.phase('starting');
  const stage = await scenario.open(ground);
  const { fleet, databaseUrl, source = 'default' } = stage;
  const { pace, wait } = ground;
  const recorder = record(createPayloads(stage.clock));
  const load = startLoad(fleet.origin, recorder.payloads, pace.rate, source);
  let remark: string | undefined;
  let stopped: ReturnType<typeof load.stop> | undefined;
  try {
    const sent = () => `${load.ledger.sent} sent`;
    progress.phase('load', sent);
    await wait(pace.before);
    progress.phase('operation', sent);
    remark = await stage.act();
    progress.phase('after', sent);
    await wait(pace.after);
  } catch (error) {
    await keepOutput(scenario.name, fleet, progress);
    throw error;
  } finally {
    stopped = load.stop();
  }
  const times = await stopped;

  const { obligations, ...counts } = load.ledger;
  progress.phase('settling');
  const patience = scenario.loses === true ? HOPELESS : PATIENCE;
  const judgement = await readAgain(() =>
    settle(databaseUrl, obligations, patience, () => undefined, signal, source),
  );
  const waiting = judgement.lost === 0 ? 0 : await readAgain(() => countWaiting(stage, obligations));
  const measured = {
    ...counts,
    ...times,
    lost: judgement.lost - waiting,
    doubled: judgement.doubled,
    wrong: countWrong(await readAgain(() => readEvents(databaseUrl, source)), recorder.sent),
    stuck: waiting + (await readAgain(() => countUnforwarded(stage))),
  };
  const wrongs = [
    ...wrongsOf(scenario, measured),
    ...(judgement.addsUp ? [] : ['conservation does not add up']),
    ...fleet.members.filter((member) => member.hasCrashed()).map(({ name }) => `${name} ended by itself`),
    ...((await stage.check?.(measured)) ?? []),
  ];
  if (wrongs.length > 0) await keepOutput(scenario.name, fleet, progress);
  return {
    scenario: scenario.name,
    isGood: wrongs.length === 0,
    remark: [...wrongs, ...(remark === undefined ? [] : [remark])].join('; '),
    measured,
  };
}

const READ_ATTEMPTS = 5;

/**
 * Repeats a reading that lost its connection: after a failover, HAProxy and Patroni may end connections once more. The
 * programs have to bear that as well, and their deliveries are judged; the judge only has to see them.
 */
async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const isLost = error instanceof Error && /^Connection terminated|ECONNRE/.test(error.message);
      if (!isLost || attempt === READ_ATTEMPTS) throw error;
    }
  }
}

/** What must not be: each as a text. */
export function wrongsOf(
  { refusesNone, loses = false }: Pick<Scenario, 'refusesNone' | 'loses'>,
  measured: Measured,
): string[] {
  const { acknowledged, lost, doubled, wrong, stuck, unanswered } = measured;
  const refused = countRefused(measured);
  const counts = { doubled, wrong, stuck, ...(loses ? {} : { lost }) };
  const forbidden = refusesNone ? { ...counts, refused, unanswered } : counts;
  const wrongs = Object.entries(forbidden).flatMap(([what, count]) =>
    count === 0 ? [] : [`${count} ${what}`],
  );
  if (acknowledged === 0) wrongs.push('nothing was acknowledged');
  if (loses && lost === 0) wrongs.push('nothing was lost, so the scenario shows nothing');
  return wrongs;
}

/** Every payload that is sent, by each of its numbers. */
function record(payloads: Payloads): { payloads: Payloads; sent: ReadonlyMap<number, Payload> } {
  const sent = new Map<number, Payload>();
  const recording: Payloads = {
    next() {
      const payload = payloads.next();
      for (const number of payload.numbers) sent.set(number, payload);
      return payload;
    },
    acknowledged: (payload) => payloads.acknowledged(payload),
  };
  return { payloads: recording, sent };
}

/** Acknowledged deliveries that are in the queue or in a spool, and nowhere else. */
async function countWaiting(
  { fleet, databaseUrl, readQueue }: Stage,
  obligations: readonly Obligation[],
): Promise<number> {
  const missing = await findMissing(databaseUrl, obligations);
  const text = `${await readQueue()}\n${await readSpools(fleet.members.map(({ dataDir }) => dataDir))}`;
  const waiting = new Set(text.match(UUIDS));
  return missing.filter((id) => waiting.has(id)).length;
}

/** Stored events that never reach the forwarder's destination. */
async function countUnforwarded({ fleet, databaseUrl }: Stage): Promise<number> {
  const { forwardedFile } = fleet;
  if (forwardedFile === undefined) return 0;
  let left: readonly string[] = [];
  try {
    await waitFor(async () => {
      left = await findUnforwarded(databaseUrl, forwardedFile);
      return left.length === 0;
    }, PATIENCE.idle);
  } catch {
    // The count says it.
  }
  return left.length;
}

/** What the programs printed outlives a scenario that failed: it is all there is to find out why. */
async function keepOutput(title: string, { members }: Fleet, progress: RowProgress): Promise<void> {
  const file = path.join(os.tmpdir(), `xiq-sink-${title.replaceAll(/[^\w-]+/g, '-')}.log`);
  const parts = members.map((member) => `--- ${member.name}\n${member.output()}`);
  await writeFile(file, parts.join('\n'));
  progress.line(`output of the programs: ${file}`);
}
