import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageType } from '../../domain.ts';
import { describeError, HttpError } from '../../errors.ts';
import { sumArrivals } from '../../store/arrivals.ts';
import type { ArrivalSum } from '../../store/arrivals.ts';
import type { Db } from '../../store/database.ts';
import { listDestinations } from '../../store/destinations.ts';
import type { DestinationStatus } from '../../store/destinations.ts';
import { MAX_OPEN_COUNT, readOpenQuarantine } from '../../store/open-quarantine.ts';
import type { OpenQuarantine } from '../../store/open-quarantine.ts';
import { listProcesses } from '../../store/processes.ts';
import { measureStorage } from '../../store/storage-size.ts';
import { readArrived } from './arrivals.ts';
import type { ArrivalsReader } from './arrivals.ts';
import type { Conservation, Health, Overview, Silence } from './overview-schemas.ts';
import { processLine, sumAnswers, sumSpools, sumStorage, sumStoring } from './sum-figures.ts';

/** How the process is, and why. */
export interface ReadinessReport {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: readonly {
    readonly name: string;
    /** `ok`, `unknown`, or a word for what is to be mended. */
    readonly state: string;
    /** Empty where there is nothing to say. */
    readonly why: string;
  }[];
}

/** The jobs of the queue, by what they wait for. */
export interface QueueFigures {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
  /** Since the job that has waited longest was added; undefined when none waits. */
  readonly oldestWaitingSeconds: number | undefined;
}

/** How unusual it is that nothing arrives of a source and message type. */
export interface SilenceLine {
  readonly source: string;
  readonly messageType: MessageType;
  readonly lastReceivedAt: Date | undefined;
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
  /** The same for a person. */
  readonly sentence: string;
}

/** What the overview shows, and where it has it from. */
export interface OverviewOptions {
  readonly db: Db;
  readonly readiness: () => Promise<ReadinessReport>;
  /** Throws when the queue does not answer. */
  readonly queue: () => Promise<QueueFigures>;
  readonly silences: () => Promise<readonly SilenceLine[]>;
  /** Bytes that are free where this process keeps its data. */
  readonly freeDisk: () => Promise<number>;
  /** A line for a terminal that sends a first delivery; it names where the secret stands, not the secret. */
  readonly firstDelivery: string;
}

/** What page and API ask alike: those who ask at the same time get the same answer. */
export interface OverviewQuestions {
  readonly overview: () => Promise<Overview>;
  readonly arrivals: ArrivalsReader;
}

/** It is asked every few seconds, for each destination: whoever is behind by more has the same to do. */
const MAX_BEHIND_COUNT = 10_000;

/** Reads everything at the same time. Never throws: what is away is missing, and told. */
export async function readOverview(
  options: OverviewOptions,
  readArrivals: ArrivalsReader,
): Promise<Overview> {
  const { db } = options;
  const now = Date.now();
  const { read, problems } = startGathering();
  const [readiness, queue, silences, free, sums, arrived, processes, destinations, quarantine, storage] =
    await Promise.all([
      read('health', options.readiness),
      read('queue', options.queue),
      read('silences', options.silences),
      read('disk', options.freeDisk),
      read('conservation', () => sumArrivals(db)),
      read('arrivals', () => readArrived(readArrivals, now)),
      read('processes', () => listProcesses(db)),
      read('destinations', () => listDestinations(db, MAX_BEHIND_COUNT)),
      read('quarantine', () => readOpenQuarantine(db)),
      read('storage', () => measureStorage(db)),
    ]);
  const conservation = sums && describeConservation(sums);
  return {
    at: new Date(now).toISOString(),
    health: describeHealth(readiness ?? { status: 'unavailable', checks: [] }, conservation),
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

/** What was acknowledged, and whether all of it is accounted for. */
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

/** A silence as the API tells it. */
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
    behind_count: Math.min(behind_count, MAX_BEHIND_COUNT),
    is_more: behind_count > MAX_BEHIND_COUNT,
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

/** A part that could not be read, and why. */
interface Problem {
  readonly part: string;
  readonly why: string;
}

/** Reads parts of a page so that one that fails or hangs leaves the others. */
export interface Gathering {
  /**
   * What the work resolves with; null, with a problem written down, when it fails or takes too long. Throws
   * HttpError: what a person asked for wrongly is no fault of a part.
   */
  readonly read: <T>(part: string, work: () => Promise<T>) => Promise<T | null>;
  readonly problems: readonly Problem[];
}

/** A person waits no longer for a page; what has not answered by then is away. */
const PATIENCE_MS = 3_000;

/** Begins to gather parts, each of which may take so many milliseconds. */
export function startGathering(patienceMs = PATIENCE_MS): Gathering {
  const problems: Problem[] = [];
  return {
    problems,
    async read(part, work) {
      try {
        return await withinTime(work, patienceMs);
      } catch (error) {
        if (error instanceof HttpError) throw error;
        problems.push({ part, why: describeError(error) });
        return null;
      }
    },
  };
}

async function withinTime<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  const settled = new AbortController();
  const late = sleep(patienceMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`it did not answer within ${patienceMs / 1000} s`);
  });
  // Once the work has settled nobody hears that the wait was called off.
  late.catch(() => undefined);
  try {
    return await Promise.race([work(), late]);
  } finally {
    settled.abort();
  }
}

/** What the page of a check's name is; the longest beginning that fits counts. */
const PAGES: readonly (readonly [beginning: string, page: string])[] = [
  ['forwarding', '/destinations'],
  ['silence', '/subscriptions'],
  ['subscriptions', '/subscriptions'],
  ['conservation', '/quarantine'],
];

/** Connections and disks are mended where they are set. */
const USUAL_PAGE = '/settings';

/** Says in one sentence how the service is, and each reason with the page that mends it. */
export function describeHealth(
  readiness: ReadinessReport,
  conservation: Pick<Conservation, 'adds_up'> | null,
): Health {
  const checks = [...readiness.checks, ...(conservation?.adds_up === false ? [UNBALANCED] : [])];
  const reasons = withoutSums(checks.filter(isToMend)).map(({ name, state, why }) => ({
    what: `${name}: ${state}`,
    why,
    page: PAGES.find(([beginning]) => name.startsWith(beginning))?.[1] ?? USUAL_PAGE,
  }));
  const status = readiness.status === 'ok' && reasons.length > 0 ? 'degraded' : readiness.status;
  return { status, sentence: sentenceOf(status, reasons.length), reasons, checks };
}

const UNBALANCED = {
  name: 'conservation',
  state: 'does not add up',
  why: 'deliveries were acknowledged whose records are neither stored nor in quarantine',
};

const isToMend = ({ state }: { state: string }) => state !== 'ok' && state !== 'unknown';

/** A check that is as bad as its worst part says nothing that the part does not say better. */
const withoutSums = <C extends { readonly name: string }>(checks: readonly C[]) =>
  checks.filter(({ name }) => !checks.some((other) => other.name.startsWith(`${name}: `)));

function sentenceOf(status: Health['status'], reasons: number): string {
  const things = reasons === 1 ? 'one thing needs' : `${reasons} things need`;
  switch (status) {
    case 'ok':
      return 'All is well: deliveries are taken and stored, and nothing needs you.';
    case 'degraded':
      return `It works, and ${things} to be looked at.`;
    case 'unavailable':
      return reasons === 0 ? 'It cannot do its work.' : `It cannot do its work: ${things} to be mended.`;
  }
}
