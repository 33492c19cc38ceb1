import { answerQuestions, type CheckLine } from '../../observe/service-status.ts';
import type { SealFacts } from '../../observe/status.ts';
import type { Db } from '../../store/server/database.ts';
import { describeDestinations, type ConfiguredDestination } from '../../store/destinations/destinations.ts';
import { listProcesses, type ReportedProcess } from '../../store/server/processes.ts';
import { sumArrivals, type ArrivalSum } from '../../store/counts/read-arrivals.ts';
import { ALL_SOURCES, isInScope, type Scope } from '../../store/server/scope.ts';
import { latestCheckpoint } from '../../store/seal/seal-log.ts';
import { readOpenQuarantine } from '../../store/quarantine/search-quarantine.ts';
import { readSealFacts } from '../../store/seal/verifications.ts';
import type { TypeSilence } from '../../observe/silence/silence.ts';
import { toAnswer } from '../api/route.ts';
import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import { loadParts } from '../page-parts.ts';
import type { createArrivalsReader } from './arrivals.ts';
import type { Arrivals, Conservation, Overview } from './overview-schemas.ts';

export type SilenceLine = Pick<TypeSilence, 'source' | 'messageType' | 'lastReceivedAt' | 'state'> & {
  readonly sentence: string;
};

export interface OverviewOptions {
  readonly db: Db;
  readonly readiness: () => Promise<{ readonly checks: readonly CheckLine[] }>;
  readonly silences: () => Promise<readonly SilenceLine[]>;
  readonly destinations: () => readonly ConfiguredDestination[];
  /** A shell command that sends a first delivery; it reads the secret from its file and does not contain it. */
  readonly firstDelivery: string;
}

/**
 * Reads everything concurrently. Never throws: an unavailable part is null, with the reason in `problems`. A reader of
 * some sources gets nothing that depends on the others: no reasons of checks, no backlog, no totals of the seal.
 */
export async function readOverview(
  options: OverviewOptions,
  arrivals: ReturnType<typeof createArrivalsReader>,
  scope: Scope,
): Promise<Overview> {
  const { db } = options;
  const now = new Date();
  const seesAll = scope === ALL_SOURCES;
  const { read, problems } = loadParts();
  const [readiness, silences, sums, processes, destinations, quarantine, seal, lastDay] = await Promise.all([
    read('checks', options.readiness),
    read('silences', async () => silencesWithin(scope, await options.silences())),
    read('conservation', () => sumArrivals(db, scope)),
    read('processes', () => listProcesses(db)),
    read('destinations', () => describeDestinations(db, scope, options.destinations())),
    read('quarantine', () => readOpenQuarantine(db, scope)),
    read('seal', () => (seesAll ? readSealFacts(db) : readSealOf(db, scope))),
    read('arrivals', () => arrivals(scope, { since: new Date(now.getTime() - DAY_MS), until: now })),
  ]);
  const checks = checksWithin(scope, withOthers(readiness?.checks ?? [], processes ?? []));
  const answers = answerQuestions({
    now,
    checks,
    sums,
    silences,
    quarantine,
    destinations,
    seal,
    lastDay: lastDay && { deliveries: sumOf(lastDay, 'deliveries'), events: sumOf(lastDay, 'events') },
    systemPage: seesAll ? '/system' : '/',
    sealPage: seesAll ? '/integrity' : '/certificate',
  });
  return {
    at: now,
    answers,
    checks: [...checks],
    has_arrived: sums && sums.length > 0,
    hourly_events: lastDay && hourlyEvents(lastDay, now),
    sources: [...new Set(sums?.map(({ source }) => source))],
    silences: silences && silences.map(toAnswer),
    conservation: sums && describeConservation(sums),
    problems: seesAll ? [...problems] : problems.map(({ part }) => ({ part, why: 'not available' })),
  };
}

const sumOf = ({ items }: Arrivals, what: 'deliveries' | 'events') =>
  items.reduce((sum, item) => sum + item[what], 0);

const HOURS = 24;

function hourlyEvents({ items }: Arrivals, now: Date): number[] {
  const hours = Array.from({ length: HOURS }, () => 0);
  for (const { bucket, events } of items) {
    // The buckets extend the day at both ends.
    const ago = Math.max(0, Math.floor((now.getTime() - bucket.getTime()) / HOUR_MS));
    const hour = HOURS - 1 - Math.min(ago, HOURS - 1);
    hours[hour] = (hours[hour] ?? 0) + events;
  }
  return hours;
}

/** The seal as a reader of some sources may see it: when, and what was found of these sources. */
async function readSealOf(db: Db, scope: Scope): Promise<SealFacts> {
  const [checkpoint, sums] = await Promise.all([latestCheckpoint(db), sumArrivals(db, scope)]);
  const sum = (count: (one: ArrivalSum) => number) => sums.reduce((all, one) => all + count(one), 0);
  const verified = {
    altered: sum(({ altered }) => altered),
    missing: sum(({ missing }) => missing),
    leaves: sum(({ events }) => events),
    since: undefined,
    last: undefined,
  };
  return { checkpoint, unsignedSince: undefined, verified, anchors: [] };
}

export const describeConservation = (sums: readonly ArrivalSum[]): Conservation => ({
  adds_up: sums.every(({ addsUp }) => addsUp),
  items: sums.map(toAnswer),
});

export const silencesWithin = (scope: Scope, silences: readonly SilenceLine[]): readonly SilenceLine[] =>
  silences.filter(({ source }) => isInScope(scope, source));

/** Adds what the other processes report about themselves, and the work that no process does. */
function withOthers(
  checks: readonly CheckLine[],
  processes: readonly ReportedProcess[],
): readonly CheckLine[] {
  const alive = processes.filter((process) => process.is_alive);
  const known = new Set(checks.map(({ name }) => name));
  const added = alive.flatMap(({ role, host, figures }) =>
    (figures?.problems ?? [])
      .filter(({ name }) => !known.has(name))
      .map((problem) => ({ ...problem, name: `${problem.name} (${role} on ${host})` })),
  );
  const isStored = alive.some(({ figures }) => figures === null || figures.storing !== null);
  return [...checks, ...added, ...(processes.length === 0 || isStored ? [] : [NO_WORKER])];
}

const NO_WORKER = {
  name: 'storing',
  state: 'away',
  why: 'no process that stores events has reported for 30 s: start serve, or serve --role worker',
};

/** Checks of the service itself. The others concern single sources, or destinations, which forward all sources. */
const SERVICE_CHECKS: ReadonlySet<string> = new Set(['database', 'queue', 'spool', 'start', 'storing']);

const checksWithin = (scope: Scope, checks: readonly CheckLine[]): readonly CheckLine[] =>
  scope === ALL_SOURCES
    ? checks
    : checks
        .filter(({ name }) => SERVICE_CHECKS.has(name))
        .map(({ name, state }) => ({ name, state, why: '' }));
