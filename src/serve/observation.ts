import { randomUUID } from 'node:crypto';
import os from 'node:os';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config/config.ts';
import { describeError } from '../lib/errors.ts';
import { freeBytes } from '../lib/files/free-bytes.ts';
import { createDeliveryObserver } from '../observe/delivery-observer.ts';
import { registerClaimMetrics } from '../observe/claim-metrics.ts';
import { createForwardingMetrics, type AskDestinations } from '../observe/forwarding-metrics.ts';
import { createIngestMetrics, registerQueueMetrics } from '../observe/ingest-metrics.ts';
import { createMetrics, createSourceLabel, metersOf, type Metrics } from '../observe/metrics.ts';
import { createProcessGauge } from '../observe/process-figures.ts';
import { isProblem, type Readiness } from '../observe/readiness.ts';
import type { CheckPool } from '../observe/readiness-checks.ts';
import { createStartSteps } from '../observe/start-steps.ts';
import { startProcessReport } from '../observe/process-report.ts';
import { createRefusedCounter } from '../observe/refused-deliveries.ts';
import { StoringProgress } from '../observe/storing-progress.ts';
import type { TypeSilence } from '../observe/silence/silence.ts';
import { startTraces, type Traces } from '../observe/traces.ts';
import {
  createQuarantineMetrics,
  createStoringMetrics,
  createSubscriptionMetrics,
  registerAheadMetrics,
  registerArrivalMetrics,
  registerCoverageMetrics,
} from '../observe/worker-metrics.ts';
import type { FairQueue } from '../queue/fair-queue.ts';
import { witnessedKeys } from '../seal/cosignature.ts';
import { countAhead } from '../store/events/event-times.ts';
import { countRecentCoverage } from '../store/reconcile/coverage.ts';
import { type Db, openLimited } from '../store/server/database.ts';
import type { ProcessFigures } from '../store/server/processes.ts';
import type { DroppedContent } from '../store/quarantine/limit-quarantine.ts';
import { readForks } from '../store/seal/witnessed-logs.ts';
import { listDestinations } from '../store/destinations/destinations.ts';
import type { BlockedChange } from '../store/partitions/partition-changes.ts';
import { closeLogged } from '../lib/close-logged.ts';
import type { ServiceConfig } from './load-settings.ts';
import { forwardsIn, receivesIn, storesIn, type Role } from '../config/roles.ts';
import { activity } from '../lib/activity.ts';
import { cached } from '../lib/cached.ts';

/** The observers that the parts of a process report to, and the figures that they add up to. */
export type Observation = Awaited<ReturnType<typeof startObserving>>;

export interface ObservationOptions {
  readonly config: ServiceConfig;
  readonly role: Role;
  /** Undefined in a process without a database. */
  readonly db: Db | undefined;
  readonly logger: Logger;
}

const DESTINATIONS_CACHE = { keepMs: 10_000, timeoutMs: 2_000 };

/** It changes with each comparison, at most every few minutes, and reads a row for each quarter of an hour. */
const COVERAGE_CACHE = { keepMs: 60_000, timeoutMs: 2_000 };

/** Starts to observe this process: metrics of the parts that its role runs, and traces if configured. */
export async function startObserving(options: ObservationOptions, opened: AsyncDisposableStack) {
  const { config, role, logger } = options;
  const sourceLabel = createSourceLabel(() => config.sources.map(({ name }) => name));
  const metrics = createMetrics({ version: packageJson.version, role });
  const traces = await openTraces(config.traces, role, logger, opened);
  const askDestinations = createDestinationReader(options);
  let queue: FairQueue | undefined;
  let latest: () => readonly TypeSilence[] = () => [];
  const arrivals = () => latest();
  let blocked: readonly BlockedChange[] = [];
  const storing = new StoringProgress();
  const pools = new Map<string, CheckPool>();
  const gauge = createProcessGauge({
    receives: receivesIn(role),
    stores: storesIn(role),
    queueState: () => queue?.state(),
  });
  opened.defer(() => gauge.close());
  const refused = createRefusedCounter();
  return {
    ...observeParts(options, metrics, sourceLabel, { askDestinations, arrivals }),
    deliveries: createDeliveryObserver({
      traces,
      ingest: receivesIn(role) ? createIngestMetrics(metrics.registry, sourceLabel) : undefined,
      countStored: storesIn(role) ? createStoringMetrics(metrics.registry, sourceLabel) : undefined,
      gauge,
      deferred: refused,
      progress: storing,
    }),
    metrics,
    storing,
    startSteps: createStartSteps(role !== 'ingest' && options.db !== undefined),
    /** Checks of the connections that do the work of this process, by the name of the work. */
    pools,
    /** Adds connections that do work, until they are closed. */
    addPool(name: string, check: CheckPool, closed: AsyncDisposableStack): void {
      pools.set(name, check);
      closed.defer(() => void pools.delete(name));
    },
    /** The state of the configured destinations, read from the database every few seconds at most. */
    askDestinations,
    /** The last arrivals; empty until the silence watch runs. */
    arrivals,
    /** Changes of the partitions that wait for other sessions; empty until maintenance runs. */
    blockedChanges: () => blocked,
    onBlocked: (next: readonly BlockedChange[]): void => {
      blocked = next;
    },
    /** Follows the silence watch, once it runs. */
    followArrivals(next: typeof latest): void {
      latest = next;
    },
    /** Adds the figures of the queue, once it is open. */
    followQueue(next: FairQueue): void {
      queue = next;
      registerQueueMetrics(metrics.registry, next);
    },
    /** Reports in the database that this process is alive, and how ready, until everything is closed. */
    startReport(databaseUrl: string, readiness: Readiness, toClose: AsyncDisposableStack): void {
      const readProblems = createProblemReader(readiness);
      const report = startProcessReport({
        db: openLimited('reporting', databaseUrl, (error) =>
          logger.debug(`the connection for process reports was lost: ${describeError(error)}`),
        ),
        identity: identify(role),
        figures: async () => ({
          ...gauge.figures(),
          problems: await readProblems(),
        }),
        refused: receivesIn(role) ? refused : undefined,
        logger,
      });
      toClose.defer(closeLogged(logger, 'report of the process', () => report.stop()));
    },
  };
}

/** So long without deliveries, a process counts as quiet. */
const QUIET_MS = 2 * 60_000;

/** How often a quiet process without problems looks for some: that opens ten connections for 25 commits, which is most of what it does. */
const ALL_WELL_MS = 10 * 60_000;

/** Creates the function that looks for problems: each time if there were some or anything happened lately, else now and then. */
function createProblemReader(readiness: Readiness) {
  let found: NonNullable<ProcessFigures['problems']> = [];
  let foundAt = -Infinity;
  return async () => {
    const since = found.length > 0 ? Infinity : performance.now() - foundAt;
    if (since < ALL_WELL_MS && activity.quietMs() > QUIET_MS) return found;
    found = (await readiness.describe()).checks.filter(isProblem);
    foundAt = performance.now();
    return found;
  };
}

interface Figures {
  readonly askDestinations: AskDestinations;
  readonly arrivals: () => readonly TypeSilence[];
}

function observeParts(
  { config, role, db }: ObservationOptions,
  { registry }: Metrics,
  sourceLabel: (source: string) => string,
  { askDestinations, arrivals }: Figures,
) {
  const onQuarantineDropped = storesIn(role) ? createQuarantineMetrics(registry, sourceLabel) : undefined;
  const onSubscriptionsChecked = storesIn(role) ? createSubscriptionMetrics(registry) : undefined;
  const forwarding = forwardsIn(role) ? createForwardingMetrics(registry, askDestinations) : undefined;
  const { gauge } = metersOf(registry);
  gauge('data_dir_free_bytes', 'Free space on the disk of DATA_DIR, in bytes', () =>
    freeBytes(config.dataDir),
  );
  if (storesIn(role)) registerArrivalMetrics(registry, arrivals);
  if (storesIn(role) && db !== undefined) {
    const coverage = cached(() => countRecentCoverage(db), COVERAGE_CACHE);
    registerCoverageMetrics(registry, sourceLabel, coverage);
    const ahead = cached(() => countAhead(db), COVERAGE_CACHE);
    registerAheadMetrics(registry, sourceLabel, ahead);
    registerClaimMetrics(registry, db, config);
    const logs = witnessedKeys(config).map(({ publicText }) => publicText);
    const forks = cached(() => readForks(db, logs), DESTINATIONS_CACHE);
    const help =
      'Logs of WITNESSES that have forked: neither of two trees that they signed contains the other';
    gauge('witnessed_forks', help, async () => (await forks())?.length ?? []);
  }
  return {
    forwarding,
    onQuarantineDropped: (dropped: DroppedContent) => onQuarantineDropped?.(dropped),
    onAlert: (rule: string) => forwarding?.alert(rule),
    onSubscriptionsChecked: (source: string, changes: number) => onSubscriptionsChecked?.(source, changes),
  };
}

async function openTraces(
  wanted: Config['traces'],
  role: Role,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<Traces | undefined> {
  if (wanted === undefined) return undefined;
  const traces = await startTraces({ ...wanted, version: packageJson.version, role, logger });
  opened.defer(closeLogged(logger, 'traces', () => traces.stop()));
  return traces;
}

function createDestinationReader({ config, db }: ObservationOptions): AskDestinations {
  if (db === undefined) return async () => [];
  const ask = cached(() => listDestinations(db), DESTINATIONS_CACHE);
  return async () => {
    const names = new Set(config.destinations.map(({ name }) => name));
    return names.size === 0 ? [] : (await ask())?.filter(({ name }) => names.has(name));
  };
}

const identify = (role: Role) => ({
  process_id: randomUUID(),
  role,
  host: os.hostname(),
  pid: process.pid,
  version: packageJson.version,
  started_at: new Date(Date.now() - process.uptime() * 1000),
});
