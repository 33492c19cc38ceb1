import { pino } from 'pino';
import { createRandom } from '../../emulator/random.ts';
import { faultyPage } from '../../emulator/http/faulty-page.ts';
import { NO_FAULTS, type Faults } from '../../emulator/sending/faults.ts';
import { createLogs } from '../../src/cloud/logs.ts';
import { createCallBudget, type CallBudget } from '../../src/reconcile/call-budget.ts';
import { QUARTER_MS, type HistoryContext } from '../../src/reconcile/compare-history.ts';
import { historyOf } from '../../src/reconcile/log-kinds.ts';
import { ROUND_MS } from '../../src/reconcile/schedule.ts';
import { createSweep } from '../../src/reconcile/sweep.ts';
import type { Db } from '../../src/store/server/database.ts';
import {
  drawWorld,
  EVENTS_MS,
  START,
  type LogEntry,
  type SentDelivery,
  type Trouble,
  type World,
} from './world.ts';
import type { CoverageState } from '../../src/store/server/schema/cloud-tables.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A missing event must be fetched so soon after its log record has appeared, or this service is up again. */
const HEAL_WITHIN_MS = 15 * MINUTE;

/** After the last event: log records are at most 6 h late, and two agreements are 6 h apart. */
const AFTER_MS = 15 * HOUR;

/** Where the events of a run are stored. */
export interface Storage {
  readonly db: Db;
  deliver(source: string, delivery: SentDelivery): Promise<void>;
  readonly storeMissing: HistoryContext['storeMissing'];
  readonly onCompared: NonNullable<HistoryContext['onCompared']>;
  /** The number of events by cluster, without superseded ones. */
  countEvents(source: string): Promise<ReadonlyMap<string, number>>;
  /** The quarters that were compared: `TYPE TIME`. */
  readStates(source: string): Promise<ReadonlyMap<string, CoverageState>>;
  /** The latest known status of each log record: `TYPE ID`. */
  readStatuses(source: string): Promise<ReadonlyMap<string, string>>;
}

/** The result of a run. */
export interface Outcome {
  readonly events: number;
  readonly dropped: number;
  readonly fetched: number;
  /** From when an event could be fetched until it was. */
  readonly healMs: readonly number[];
  readonly mostCallsAnHour: number;
  /** What was wrong with the lists of the cloud. */
  readonly troubles: readonly Trouble['kind'][];
  /** The number of quarters in each state in the end, of the time with events. */
  readonly quarters: ReadonlyMap<CoverageState, number>;
  /** What went wrong. */
  readonly failures: readonly string[];
}

/** Runs one seed on simulated time: the cloud and its deliveries, rounds of comparisons, and the checks after each. */
export async function simulate(
  seed: number,
  events: number,
  storage: Storage,
  source = 'simulated',
): Promise<Outcome> {
  const world = drawWorld(seed, events);
  const random = createRandom(seed, 'rounds');
  let now = START;
  const clock = { now: () => now, sleep: async () => undefined };
  const calls: number[] = [];
  const budget = createCallBudget(clock, async () => {
    calls.push(now);
    return new Response();
  });
  const healMs: number[] = [];
  const healed = new Map(world.log.map((entry) => [`${entry.messageType} ${entry.logId}`, entry]));
  let upSince = START;
  const context = {
    db: storage.db,
    clock,
    toleranceMs: 2 * SECOND,
    onCompared: storage.onCompared,
    async storeMissing(source, messageType, records) {
      for (const { id } of records) {
        const entry = healed.get(`${messageType} ${String(id)}`);
        if (entry !== undefined) healMs.push(now - Math.max(entry.visibleAt, upSince));
      }
      await storage.storeMissing(source, messageType, records);
    },
  } satisfies Omit<HistoryContext, 'logs'>;
  const swept = {
    source,
    messageTypes: world.messageTypes,
    logs: logsOf(world, clock, budget),
    restrictedTo: async () => (wrongAt(world.troubles, now).has('restricted context') ? ['1'] : []),
    budget,
  };
  const begin = () => createSweep({ context, holder: HOLDER, logger: pino({ level: 'silent' }) });
  let sweep = begin();
  const judge = createJudge(world);
  let next = 0;

  while (now < START + EVENTS_MS + AFTER_MS) {
    now += ROUND_MS + random.int(0, 20 * SECOND);
    const isDown = world.outage !== undefined && now >= world.outage.from && now < world.outage.to;
    for (let delivery = world.deliveries[next]; delivery !== undefined && delivery.arrivesAt <= now;) {
      if (!isWithin(world.outage, delivery.arrivesAt)) await storage.deliver(source, delivery);
      next += 1;
      delivery = world.deliveries[next];
    }
    if (isDown) continue;
    if (world.outage !== undefined && now >= world.outage.to && upSince < world.outage.to) {
      upSince = world.outage.to;
      sweep = begin();
    }
    await sweep.round(swept);
    judge.look(now, upSince, await storage.countEvents(source), await storage.readStates(source));
  }
  const states = await storage.readStates(source);
  judge.finish(await storage.countEvents(source), states, await storage.readStatuses(source));
  return {
    events: world.log.length,
    dropped: world.dropped,
    fetched: healMs.length,
    healMs,
    mostCallsAnHour: mostWithin(calls, HOUR),
    troubles: world.troubles.map(({ kind }) => kind),
    quarters: countBy(
      world.messageTypes.flatMap((messageType) =>
        quartersUntil(START + EVENTS_MS).map((at) => quarterOf({ messageType, at })),
      ),
      (quarter) => states.get(quarter) ?? 'pending',
    ),
    failures: judge.failures,
  };
}

/** One process after the other: the lease stays with it. */
const HOLDER = '00000000-0000-7000-8000-000000000015';

const isWithin = (span: World['outage'], at: number) => span !== undefined && at >= span.from && at < span.to;

/** The log API: what is visible by now, with the status of now, page by page, and with what is wrong by now. */
function logsOf(
  { log, troubles }: World,
  clock: { now(): number },
  budget: CallBudget,
): HistoryContext['logs'] {
  const ofKind = Map.groupBy(log, ({ messageType }) => historyOf(messageType).kind);
  const byLogId = new Map(log.map(({ logId, description }) => [logId, description]));
  const isStopped = ({ at }: LogEntry) =>
    troubles.some(({ kind, from }) => kind === 'stopped log' && at >= from);

  function list(path: string, { startTime, endTime, page, limit }: Record<string, unknown>) {
    const now = clock.now();
    const wrong = wrongAt(troubles, now);
    const found = [...ofKind]
      .flatMap(([kind, entries]) => (path.endsWith(`/${kind}`) ? entries : []))
      .filter((one) => one.at >= Number(startTime) && one.at <= Number(endTime) && one.visibleAt <= now)
      .filter((one) => !isStopped(one) && !(wrong.has('restricted context') && Number(one.logId) % 2 === 1));
    const records = found.map(({ record, later }) =>
      later !== undefined && later.at <= now ? { ...record, ...later.changed } : record,
    );
    const faults: Faults = {
      ...NO_FAULTS,
      short_pages: wrong.has('short pages'),
      empty_pages: wrong.has('empty pages'),
      wrong_totals: wrong.has('lower total') ? 'lower' : wrong.has('higher total') ? 'higher' : null,
      repeat_records: wrong.has('repeated records'),
      silent_logs: wrong.has('silent log'),
      lose_times: wrong.has('missing times') ? 0.05 : 0,
    };
    const sent = faultyPage(faults, records, { page: Number(page), limit: Number(limit) });
    return wrong.has('total of zero') ? { ...sent, pagination: { total: 0 } } : sent;
  }

  return createLogs(async ({ method, path, query = {} }) => {
    await budget.fetch('https://cloud.test');
    const id = path.startsWith(WHOLE) ? path.slice(WHOLE.length) : undefined;
    const body = id === undefined ? list(path, query) : { description: byLogId.get(id) };
    return { method, path, status: 200, headers: new Headers(), text: JSON.stringify(body) };
  });
}

const WHOLE = '/logs/audit/full-descriptions/';

const wrongAt = (troubles: readonly Trouble[], now: number): ReadonlySet<Trouble['kind']> =>
  new Set(troubles.filter(({ from, to }) => now >= from && now < to).map(({ kind }) => kind));

/** Holds each round against what really happened. */
function createJudge({ log, messageTypes, troubles }: World) {
  const failures: string[] = [];
  const sizes = countBy(log, ({ cluster }) => cluster);
  const byQuarter = Map.groupBy(log, (entry) => quarterOf(entry));
  const byVisibility = log.toSorted((a, b) => a.visibleAt - b.visibleAt);
  const due = new Map<string, number>();
  const proven = new Set<string>();
  const isHonest = troubles.length === 0;
  const lastOf = new Map(log.map(({ messageType, at }) => [messageType, at]));
  let nextDue = 0;

  /** Of each cluster, at least as many events are stored as its log records that were visible a quarter of an hour ago. */
  function checkHealed(now: number, upSince: number, stored: ReadonlyMap<string, number>): void {
    const looked = new Set<string>();
    for (let entry = byVisibility[nextDue]; entry !== undefined; entry = byVisibility[nextDue]) {
      if (Math.max(entry.visibleAt, upSince) + HEAL_WITHIN_MS > now) break;
      due.set(entry.cluster, (due.get(entry.cluster) ?? 0) + 1);
      looked.add(entry.cluster);
      nextDue += 1;
    }
    for (const cluster of looked) {
      const count = stored.get(cluster) ?? 0;
      const least = due.get(cluster) ?? 0;
      if (count < least)
        failures.push(`${timeOf(now)}: ${cluster} has ${count} events, at least ${least} are due`);
    }
  }

  /** A proven quarter has all of its events. */
  function checkProven(
    stored: ReadonlyMap<string, number>,
    states: ReadonlyMap<string, CoverageState>,
    when: string,
  ): void {
    for (const [quarter, state] of states) {
      if ((state !== 'whole' && state !== 'healed') || proven.has(quarter)) continue;
      proven.add(quarter);
      for (const [cluster, count] of countBy(byQuarter.get(quarter) ?? [], (entry) => entry.cluster)) {
        if ((stored.get(cluster) ?? 0) < count)
          failures.push(`${when}: ${quarter} is ${state} without ${cluster}`);
      }
    }
  }

  return {
    failures,
    look(
      now: number,
      upSince: number,
      stored: ReadonlyMap<string, number>,
      states: ReadonlyMap<string, CoverageState>,
    ): void {
      if (isHonest) checkHealed(now, upSince, stored);
      checkProven(stored, states, timeOf(now));
    },
    /**
     * In the end, no event is there twice. With honest lists, each is there, every quarter is proven that the log has a
     * later record than, and every status is the latest.
     */
    finish(
      stored: ReadonlyMap<string, number>,
      states: ReadonlyMap<string, CoverageState>,
      statuses: ReadonlyMap<string, string>,
    ): void {
      for (const [cluster, size] of sizes) {
        const count = stored.get(cluster) ?? 0;
        if (count > size || (isHonest && count < size))
          failures.push(`end: ${cluster} has ${count} events instead of ${size}`);
      }
      if (!isHonest) return;
      for (const messageType of messageTypes) {
        const last = Math.floor((lastOf.get(messageType) ?? 0) / QUARTER_MS) * QUARTER_MS;
        for (const at of quartersUntil(last)) {
          const quarter = quarterOf({ messageType, at });
          const state = states.get(quarter);
          if (state !== 'whole' && state !== 'healed') failures.push(`end: ${quarter} is ${state}`);
        }
      }
      for (const { messageType, logId, later } of log) {
        const status = statuses.get(`${messageType} ${logId}`);
        if (later !== undefined && status !== later.status) {
          failures.push(`end: the status of ${messageType} ${logId} is ${status}`);
        }
      }
    },
  };
}

const quartersUntil = (end: number) =>
  Array.from({ length: (end - START) / QUARTER_MS }, (_, index) => START + index * QUARTER_MS);

const timeOf = (at: number) => new Date(at).toISOString();

/** The name of a quarter of an hour of a message type. */
export const quarterOf = ({ messageType, at }: Pick<LogEntry, 'messageType' | 'at'>) =>
  `${messageType} ${timeOf(Math.floor(at / QUARTER_MS) * QUARTER_MS)}`;

function countBy<T, Key extends string>(items: readonly T[], keyOf: (item: T) => Key): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

/** The most of these times, in ascending order, within a span. */
function mostWithin(times: readonly number[], spanMs: number): number {
  let most = 0;
  let first = 0;
  times.forEach((time, index) => {
    while ((times[first] ?? time) <= time - spanMs) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}
