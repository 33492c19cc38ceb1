import pTimeout from 'p-timeout';
import type { MessageType } from '../../domain.ts';
import { describeError, HttpError } from '../../errors.ts';
import { isLockTimeout } from '../../postgres.ts';
import { sumArrivals } from '../../store/read-arrivals.ts';
import type { ArrivalSum } from '../../store/read-arrivals.ts';
import type { Db } from '../../store/database.ts';
import { listDestinations } from '../../store/destinations.ts';
import type { DestinationStatus } from '../../store/destinations.ts';
import { MAX_OPEN_COUNT, readOpenQuarantine } from '../../store/search-quarantine.ts';
import type { OpenQuarantine } from '../../store/search-quarantine.ts';
import { listProcesses } from '../../store/processes.ts';
import type { ReportedProcess } from '../../store/processes.ts';
import { measureStorage } from '../../store/storage-size.ts';
import { ALL_SOURCES, isInScope } from '../../store/scope.ts';
import type { Scope } from '../../store/scope.ts';
import { countOf } from '../../units.ts';
import { readArrived } from './arrivals.ts';
import type { ArrivalsReader } from './arrivals.ts';
import type { Conservation, Health, Overview, Silence } from './overview-schemas.ts';
import { processLine, sumAnswers, sumSpools, sumStorage, sumStoring } from './sum-figures.ts';

/** The state of the process, and its reasons. */
export interface ReadinessReport {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: readonly {
    readonly name: string;
    /** `ok`, `unknown`, or a word for the problem. */
    readonly state: string;
    /** Empty if there are no details. */
    readonly why: string;
  }[];
}

/** The jobs of the queue by state. */
interface QueueFigures {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
  /** The age of the oldest waiting job; undefined if none is waiting. */
  readonly oldestWaitingSeconds: number | undefined;
}

/** Whether the silence of a source and message type is unusual. */
export interface SilenceLine {
  readonly source: string;
  readonly messageType: MessageType;
  readonly lastReceivedAt: Date | undefined;
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
  /** The same in words. */
  readonly sentence: string;
}

/** What the overview needs. */
export interface OverviewOptions {
  readonly db: Db;
  readonly readiness: () => Promise<ReadinessReport>;
  /** Throws if the queue does not answer. */
  readonly queue: () => Promise<QueueFigures>;
  readonly silences: () => Promise<readonly SilenceLine[]>;
  /** Free bytes on the disk of the data directory. */
  readonly freeDisk: () => Promise<number>;
  /** A shell command that sends a first delivery; it reads the secret from its file and does not contain it. */
  readonly firstDelivery: string;
}

/** What page and API ask alike: those with the same scope who ask at the same time get the same answer. */
export interface OverviewQuestions {
  readonly overview: (scope: Scope) => Promise<Overview>;
  readonly arrivals: ArrivalsReader;
}

/**
 * Reads everything concurrently. Never throws: an unavailable part is null, with the reason in `problems`. What concerns
 * all sources together (figures of processes, queue, storage and destinations) is null for a reader of some sources.
 */
export async function readOverview(
  options: OverviewOptions,
  scope: Scope,
  readArrivals: ArrivalsReader,
): Promise<Overview> {
  const { db } = options;
  const now = Date.now();
  const { read, problems } = startGathering();
  const readWhole = async <T>(part: string, work: () => Promise<T>) =>
    scope === ALL_SOURCES ? read(part, work) : null;
  const [readiness, queue, silences, free, sums, arrived, processes, destinations, quarantine, storage] =
    await Promise.all([
      read('health', options.readiness),
      readWhole('queue', options.queue),
      read('silences', async () => silencesWithin(scope, await options.silences())),
      readWhole('disk', options.freeDisk),
      read('conservation', () => sumArrivals(db, scope)),
      read('arrivals', () => readArrived(readArrivals, scope, now)),
      readWhole('processes', () => listProcesses(db)),
      readWhole('destinations', () => listDestinations(db)),
      read('quarantine', () => readOpenQuarantine(db, scope)),
      readWhole('storage', () => measureStorage(db)),
    ]);
  const conservation = sums && describeConservation(sums);
  return {
    at: new Date(now).toISOString(),
    health: describeHealth(
      readinessWithin(scope, withOthers(readiness ?? { status: 'unavailable', checks: [] }, processes ?? [])),
      conservation,
      scope === ALL_SOURCES ? USUAL_PAGE : '/',
    ),
    has_arrived: sums && sums.length > 0,
    sources: [...new Set(sums?.map(({ source }) => source))],
    arrived,
    answers: processes && sumAnswers(processes),
    storing: processes && sumStoring(processes),
    queue: queue && describeQueue(queue),
    spool: processes && sumSpools(processes),
    processes: processes && processes.map(processLine),
    destinations: destinations && destinations.map(describeDestination),
    silences: silences && silences.map(describeSilence),
    conservation,
    quarantine: quarantine && describeQuarantine(quarantine),
    storage: storage && sumStorage(storage),
    free_disk_bytes: free,
    problems: [...problems],
  };
}

/** Whether everything that was acknowledged is accounted for. */
export function describeConservation(sums: readonly ArrivalSum[]): Conservation {
  return {
    adds_up: sums.every(({ addsUp }) => addsUp),
    items: sums.map(({ messageType, addsUp, lastReceivedAt, ...counts }) => ({
      message_type: messageType,
      adds_up: addsUp,
      last_received_at: lastReceivedAt.toISOString(),
      ...counts,
    })),
  };
}

/** The silences of the sources in a scope. */
export const silencesWithin = (scope: Scope, silences: readonly SilenceLine[]): readonly SilenceLine[] =>
  silences.filter(({ source }) => isInScope(scope, source));

/** Adds what the other processes report about themselves, and the work that no process does. */
function withOthers(report: ReadinessReport, processes: readonly ReportedProcess[]): ReadinessReport {
  const alive = processes.filter((process) => process.is_alive);
  const known = new Set(report.checks.map(({ name }) => name));
  const added = alive.flatMap(({ role, host, figures }) =>
    withoutSums(figures?.problems ?? [])
      .filter(({ name }) => !known.has(name))
      .map((problem) => ({ ...problem, name: `${problem.name} (${role} on ${host})` })),
  );
  const isStored = alive.some(({ figures }) => figures === null || figures.storing !== null);
  return {
    status: report.status,
    checks: [...report.checks, ...added, ...(processes.length === 0 || isStored ? [] : [NO_WORKER])],
  };
}

const NO_WORKER = {
  name: 'storing',
  state: 'away',
  why: 'no process that stores has reported for 30 s: start serve, or serve --role worker',
};

/** Checks of the service itself. The others concern single sources, or destinations, which forward all sources. */
const SERVICE_CHECKS: ReadonlySet<string> = new Set(['database', 'queue', 'spool', 'start', 'storing']);

/** The state of the service as a reader of a scope may see it. */
function readinessWithin(scope: Scope, report: ReadinessReport): ReadinessReport {
  if (scope === ALL_SOURCES) return report;
  return {
    status: report.status === 'unavailable' ? 'unavailable' : 'ok',
    checks: report.checks
      .filter(({ name }) => SERVICE_CHECKS.has(name))
      .map(({ name, state }) => ({ name, state, why: '' })),
  };
}

/** A silence for the API. */
export function describeSilence({ messageType, lastReceivedAt, ...rest }: SilenceLine): Silence {
  return {
    ...rest,
    message_type: messageType,
    last_received_at: lastReceivedAt?.toISOString() ?? null,
  };
}

function describeQueue({ oldestWaitingSeconds, ...counts }: QueueFigures): Overview['queue'] {
  const { waiting, active, delayed, failed } = counts;
  return { waiting, active, delayed, failed, oldest_waiting_seconds: oldestWaitingSeconds ?? null };
}

function describeDestination(status: DestinationStatus) {
  const { name, state, behind_count, rejected_count, last_error } = status;
  return {
    name,
    state,
    behind_count,
    behind_since: status.behind_since?.toISOString() ?? null,
    rejected_count,
    last_sent_at: status.last_sent_at?.toISOString() ?? null,
    last_error,
  };
}

function describeQuarantine({ count, oldestReceivedAt }: OpenQuarantine): Overview['quarantine'] {
  return {
    open_count: Math.min(count, MAX_OPEN_COUNT),
    is_more: count > MAX_OPEN_COUNT,
    oldest_received_at: oldestReceivedAt?.toISOString() ?? null,
  };
}

/** A part that could not be read, and the reason. */
interface Problem {
  readonly part: string;
  readonly why: string;
}

/** Reads parts of a page, so that one that fails or hangs does not affect the others. */
export interface Gathering {
  /**
   * The result of the work; null, with an entry in `problems`, if it fails or times out. Throws HttpError: an invalid
   * request is not a problem of a part.
   */
  readonly read: <T>(part: string, work: () => Promise<T>) => Promise<T | null>;
  readonly problems: readonly Problem[];
}

/** A part that has not answered by then counts as unavailable: a person does not wait longer for a page. */
const PATIENCE_MS = 3_000;

/** Starts gathering parts, with a timeout for each in milliseconds. */
export function startGathering(patienceMs = PATIENCE_MS): Gathering {
  const problems: Problem[] = [];
  return {
    problems,
    async read(part, work) {
      try {
        return await pTimeout(work(), {
          milliseconds: patienceMs,
          message: `no answer within ${patienceMs / 1000} s`,
        });
      } catch (error) {
        if (error instanceof HttpError) throw error;
        problems.push({ part, why: isLockTimeout(error) ? 'a table is locked' : describeError(error) });
        return null;
      }
    },
  };
}

/** The page that helps with a check, by the start of its name. */
const PAGES: readonly (readonly [beginning: string, page: string])[] = [
  ['forwarding', '/destinations'],
  ['silence', '/subscriptions'],
  ['subscriptions', '/subscriptions'],
  ['conservation', '/quarantine'],
];

/** Problems of connections and disks are fixed in the settings. */
const USUAL_PAGE = '/settings';

/** The state of the service in one sentence, and each problem with the page that helps to fix it. */
export function describeHealth(
  readiness: ReadinessReport,
  conservation: Pick<Conservation, 'adds_up'> | null,
  usualPage = USUAL_PAGE,
): Health {
  const checks = [...readiness.checks, ...(conservation?.adds_up === false ? [UNBALANCED] : [])];
  const reasons = withoutSums(checks.filter(isProblem)).map(({ name, state, why }) => ({
    what: `${name}: ${state}`,
    why,
    page: PAGES.find(([beginning]) => name.startsWith(beginning))?.[1] ?? usualPage,
  }));
  const status = readiness.status === 'ok' && reasons.length > 0 ? 'degraded' : readiness.status;
  return { status, sentence: sentenceOf(status, reasons.length), reasons, checks };
}

const UNBALANCED = {
  name: 'conservation',
  state: 'does not add up',
  why: 'what is stored is not what was acknowledged: the overview names the source and the type',
};

const isProblem = ({ state }: { state: string }) => state !== 'ok' && state !== 'unknown';

/** Leaves out a check whose parts are listed: they are more specific. */
const withoutSums = <C extends { readonly name: string }>(checks: readonly C[]) =>
  checks.filter(({ name }) => !checks.some((other) => other.name.startsWith(`${name}: `)));

function sentenceOf(status: Health['status'], reasons: number): string {
  switch (status) {
    case 'ok':
      return 'Running normally. No action needed.';
    case 'degraded':
      return `Running, with ${countOf(reasons, 'warning')}.`;
    case 'unavailable':
      return reasons === 0 ? 'Not working.' : `Not working: ${countOf(reasons, 'problem')}.`;
  }
}
