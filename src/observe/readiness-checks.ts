import pTimeout from 'p-timeout';
import { describeError } from '../lib/errors.ts';
import type { Check, Checks, Finding, State } from './readiness.ts';
import type { Arrival } from './worker-metrics.ts';
import type { QueueMeasure } from '../queue/batch-queue.ts';
import type { FairQueue } from '../queue/fair-queue.ts';
import { checkDatabase, ReadOnlyError, type Db } from '../store/server/database.ts';
import type { DestinationStatus } from '../store/destinations/destinations.ts';
import { describeBlocked, type BlockedChange } from '../store/partitions/partition-changes.ts';
import { describeWork } from '../store/server/server-sessions.ts';
import { findObstacles, findWaits, type Wait } from '../store/server/waits.ts';
import { readSealFacts } from '../store/seal/verifications.ts';
import { factsOfDestination, statusOfDestination, statusOfSeal } from './status.ts';
import { countOf, formatBytes, formatDuration } from '../lib/text/units.ts';
import type { Config, SourceConfig } from '../config/config.ts';
import { forwardsIn, storesIn, type Role } from '../config/roles.ts';
import { listRefusedLogins } from '../store/sources/refused-logins.ts';
import type { AskDestinations } from './forwarding-metrics.ts';
import type { StartSteps } from './start-steps.ts';
import type { StoringProgress } from './storing-progress.ts';

/** Rejects if the database does not answer over these connections. */
export type CheckPool = () => Promise<void>;

type WatchedQueue = Pick<FairQueue, 'check' | 'state' | 'spoolRoom'>;

export interface CheckedParts {
  readonly role: Role;
  readonly db: Db | undefined;
  /** Undefined in a process that accepts no deliveries. */
  readonly queue: WatchedQueue | undefined;
  /** Measures the queue. Undefined in a process that neither stores nor has the console. */
  readonly measure: (() => Promise<QueueMeasure>) | undefined;
  /** The settings in force. */
  readonly config: Pick<Config, 'sources' | 'redisUrl'>;
  readonly observation: {
    readonly askDestinations: AskDestinations;
    /** Changes of the partitions that wait for other sessions. */
    readonly blockedChanges: () => readonly BlockedChange[];
    readonly storing: Pick<StoringProgress, 'state'>;
    readonly startSteps: Pick<StartSteps, 'state'>;
    /** Checks of the connections that do the work of this process, by the name of the work. */
    readonly pools: ReadonlyMap<string, CheckPool>;
    readonly arrivals: () => readonly Arrival[];
  };
}

/**
 * The readiness checks of a process of this role. Forwarding and silence never make it unavailable: deliveries are
 * accepted all the same.
 */
export function checksOf({ role, db, queue, measure, config, observation }: CheckedParts): Checks {
  const queueDb = config.redisUrl === undefined ? db : undefined;
  const isPart = role !== 'all';
  return {
    ...(queue && {
      queue: check(() => queueFinding(queue, queueDb), true),
      spool: check(() => spoolFinding(queue)),
    }),
    ...(db && {
      database: check(() => databaseFinding(db, observation), isPart && role !== 'ingest'),
      locks: check(() => locksFinding(() => findWaits(db), observation)),
    }),
    ...(db && role !== 'ingest' && { start: check(() => startFinding(db, observation), isPart) }),
    ...(db &&
      measure &&
      storesIn(role) && { storing: check(() => storingFinding(db, measure, observation), isPart) }),
    ...(db && storesIn(role) && { seal: check(() => sealFinding(db)) }),
    ...(forwardsIn(role) && { forwarding: check(() => forwardingFinding(observation)) }),
    ...(db && storesIn(role) && { cloud: check(() => cloudFinding(db, config.sources)) }),
    ...(storesIn(role) && { silence: check(async () => silenceFinding(observation)) }),
  };
}

const check = (ask: () => Promise<Finding>, isNeeded = false): Check => ({ ask, isNeeded });

/** Deliveries are accepted while the queue or the spool is available, even if they cannot be stored now. */
async function queueFinding(queue: WatchedQueue, db: Db | undefined): Promise<Finding> {
  if ((await queue.check()) === 'queued') return { state: 'ok' };
  const { failure } = queue.state();
  const obstacles = db === undefined ? undefined : await findObstaclesOf(db).catch(() => undefined);
  return { state: 'spooling', why: [failure, obstacles].filter((part) => part !== undefined).join(': ') };
}

async function spoolFinding(queue: WatchedQueue): Promise<Finding> {
  const { state, bytesLeft } = await queue.spoolRoom();
  const { bytes, segments } = queue.state().spool;
  if (segments === 0 && state === 'ok') return { state };
  return {
    state,
    why: `${formatBytes(bytes)} in ${countOf(segments, 'file')}, room for ${formatBytes(bytesLeft)} more`,
  };
}

/**
 * The database, over the connections that do the work: a pooler or a limit of connections may refuse some of them and
 * accept others. Those that are storing now need no probe, which would wait for them.
 */
async function databaseFinding(
  db: Db,
  { pools, storing }: Pick<CheckedParts['observation'], 'pools' | 'storing'>,
): Promise<Finding> {
  if (pools.size === 0) return probe(() => checkDatabase(db));
  const idle = [...pools].filter(([name]) => name !== 'storing' || storing.state().batches === 0);
  const parts = await Promise.all(idle.map(async ([name, check]) => ({ name, ...(await probe(check)) })));
  return worstOf(parts, ['away', 'read-only']);
}

async function probe(check: CheckPool): Promise<{ readonly state: State; readonly why: string }> {
  try {
    await soon(check());
    return { state: 'ok', why: '' };
  } catch (error) {
    return { state: error instanceof ReadOnlyError ? 'read-only' : 'away', why: describeError(error) };
  }
}

/** Whoever asks for readiness waits for a few seconds at most, so its questions get less. */
const ANSWER_MS = 2_000;

const soon = <T>(work: Promise<T>): Promise<T> =>
  pTimeout(work, { milliseconds: ANSWER_MS, message: `no answer within ${ANSWER_MS / 1000} s` });

/** Work that takes longer is looked into: others may be in its way. A large transaction takes 1 s on a slow disk. */
const PATIENCE_MS = 5_000;

/** The start of the parts that need the database: each step may have to wait for others. */
async function startFinding(
  db: Db,
  { startSteps }: Pick<CheckedParts['observation'], 'startSteps'>,
): Promise<Finding> {
  const start = startSteps.state();
  if (start === undefined) return { state: 'ok' };
  const { step, since, failure } = start;
  const why = failure ?? (Date.now() - since < PATIENCE_MS ? undefined : await explainWait(db));
  return { state: 'starting', why: `${step} since ${timeOf(since)}${why === undefined ? '' : `: ${why}`}` };
}

async function sealFinding(db: Db): Promise<Finding> {
  const { word, what } = statusOfSeal(await readSealFacts(db), new Date());
  return word === 'behind' ? { state: 'behind', why: what } : { state: 'ok' };
}

async function storingFinding(
  db: Db,
  measure: () => Promise<QueueMeasure>,
  { storing }: Pick<CheckedParts['observation'], 'storing'>,
): Promise<Finding> {
  const { waitingSince, lastStoredAt, failure, newerVersion } = storing.state();
  const last = lastStoredAt === undefined ? 'nothing stored yet' : `last stored ${timeOf(lastStoredAt)}`;
  if (waitingSince !== undefined) {
    if (failure !== undefined) return { state: 'away', why: `${failure}; ${last}` };
    if (Date.now() - waitingSince < PATIENCE_MS) return { state: 'ok', why: last };
    return {
      state: 'stuck',
      why: `batches have been waiting since ${timeOf(waitingSince)}: ${await explainWait(db)}; ${last}`,
    };
  }
  if (newerVersion !== undefined) {
    const why = `jobs of version ${newerVersion} are left to newer workers: upgrade this one; ${last}`;
    return { state: 'behind', why };
  }
  // Without an answer, the check of the queue says why.
  const oldest = await soon(measure()).then(
    ({ oldestWaitingSeconds: seconds = 0 }) => seconds,
    () => 0,
  );
  const idleSeconds = (Date.now() - (lastStoredAt ?? 0)) / 1000;
  if (Math.min(oldest, idleSeconds) * 1000 < 2 * PATIENCE_MS) return { state: 'ok', why: last };
  return {
    state: 'stuck',
    why: `jobs have been in the queue for ${formatDuration(oldest)}, but the worker receives none; ${last}`,
  };
}

async function explainWait(db: Db): Promise<string> {
  try {
    return (await findObstaclesOf(db)) ?? 'the database reports no blocking session';
  } catch (error) {
    return `the database does not report why: ${describeError(error)}`;
  }
}

/** What is in the way of the sessions of this service; undefined if the database names nothing. */
async function findObstaclesOf(db: Db): Promise<string | undefined> {
  const { standby, blockers } = await soon(findObstacles(db, PATIENCE_MS / 2_000));
  const obstacles = [
    ...(standby ? ['a commit waits for a synchronous standby to confirm it'] : []),
    ...blockers.map((session) => `a lock is held by ${describeWork(session)}`),
  ];
  return obstacles.length === 0 ? undefined : obstacles.join('; ');
}

const timeOf = (epochMs: number) => new Date(epochMs).toISOString();

/** Lock waits and long transactions in the database; maintenance reports the sessions that it waits for itself. */
export async function locksFinding(
  find: () => Promise<readonly Wait[]>,
  { blockedChanges }: Pick<CheckedParts['observation'], 'blockedChanges'>,
): Promise<Finding> {
  const blocked = blockedChanges().map((change) => ({
    name: 'maintenance',
    state: 'waiting' as const,
    why: describeBlocked(change),
  }));
  const waits = await soon(find()).catch(() => undefined);
  if (waits === undefined && blocked.length === 0) {
    return { state: 'unknown', why: 'the database does not answer' };
  }
  const parts = (waits ?? []).map(({ waiting, session }) => ({
    name: waiting,
    state: 'waiting' as const,
    why: describeWork(session),
  }));
  return worstOf([...parts, ...blocked], ['waiting']);
}

async function forwardingFinding({ askDestinations }: CheckedParts['observation']): Promise<Finding> {
  const destinations = await askDestinations();
  if (destinations === undefined) return { state: 'unknown', why: 'the database does not answer' };
  return worstOf(destinations.map(describeDestination), ['refused', 'behind']);
}

function describeDestination(stored: DestinationStatus) {
  const { word, what } = statusOfDestination(factsOfDestination(stored), new Date());
  const isProblem = word === 'refused' || word === 'behind';
  return { name: stored.name, state: isProblem ? word : ('ok' as const), why: what };
}

function silenceFinding({ arrivals }: CheckedParts['observation']): Finding {
  const parts = arrivals().map(({ source, messageType, state, lastReceivedAt }) => ({
    name: `${source} ${messageType}`,
    state: state === 'unusual' ? ('unusually quiet' as const) : ('ok' as const),
    why: lastReceivedAt === undefined ? 'never received' : `last received ${lastReceivedAt.toISOString()}`,
  }));
  return worstOf(parts, ['unusually quiet']);
}

async function cloudFinding(db: Db, sources: readonly SourceConfig[]): Promise<Finding> {
  const refused = new Map((await listRefusedLogins(db)).map((login) => [login.source, login]));
  const parts = sources.flatMap(({ name, cloud }) => {
    const login = refused.get(name);
    if (login === undefined || cloud === undefined || 'apiToken' in cloud.credentials) return [];
    return [{ name, state: 'refused' as const, why: `${login.reason}; ${login.refused_at.toISOString()}` }];
  });
  return worstOf(parts, ['refused']);
}

/** The worst state that any part is in, of these states (worst first); else ok. */
function worstOf(parts: NonNullable<Finding['parts']>, worstFirst: readonly State[]): Finding {
  const state = worstFirst.find((bad) => parts.some((part) => part.state === bad)) ?? 'ok';
  return { state, parts };
}
