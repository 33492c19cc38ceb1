import { listDestinations } from '../../store/destinations.ts';
import type { DestinationStatus } from '../../store/destinations.ts';
import { listProcesses } from '../../store/processes.ts';
import { sumArrivals } from '../../store/read-arrivals.ts';
import type { ArrivalSum } from '../../store/read-arrivals.ts';
import { MAX_OPEN_COUNT, readOpenQuarantine } from '../../store/search-quarantine.ts';
import type { OpenQuarantine } from '../../store/search-quarantine.ts';
import { measureStorage } from '../../store/storage-size.ts';
import type { ArrivalsReader } from './arrivals-reader.ts';
import { startGathering } from './gather-parts.ts';
import type { OverviewOptions, QueueFigures, SilenceLine } from './overview-options.ts';
import type { Conservation, Overview, Silence } from './overview-schemas.ts';
import { readArrived } from './read-arrived.ts';
import { describeHealth } from './read-health.ts';
import { processLine, sumAnswers, sumSpools, sumStoring } from './sum-processes.ts';
import { sumStorage } from './sum-storage.ts';

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
