import { randomUUID } from 'node:crypto';
import os from 'node:os';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import type { ForwardObserver } from '../forward/forward-events.ts';
import type { IngestObserver } from '../ingest/receive-delivery.ts';
import { cached } from '../observe/cached.ts';
import { createForwardingMetrics, type AskDestinations } from '../observe/forwarding-metrics.ts';
import { createIngestMetrics, registerQueueMetrics } from '../observe/ingest-metrics.ts';
import { createMetrics, createSourceLabel, type Metrics } from '../observe/metrics.ts';
import { createProcessGauge, type ProcessGauge } from '../observe/process-figures.ts';
import { isProblem, type Readiness } from '../observe/readiness.ts';
import { startProcessReport } from '../observe/process-report.ts';
import { createRefusedCounter, type RefusedCounter } from '../observe/refused-deliveries.ts';
import type { Stored } from '../observe/sum-stored.ts';
import { createStoringProgress } from '../observe/storing-progress.ts';
import type { TypeSilence } from '../observe/silence.ts';
import { startTraces, type Traces } from '../observe/traces.ts';
import {
  createQuarantineMetrics,
  createStoringMetrics,
  createSubscriptionMetrics,
  registerArrivalMetrics,
  registerCoverageMetrics,
} from '../observe/worker-metrics.ts';
import type { DeliveryQueue, OnCommitted } from '../queue/delivery-queue.ts';
import { countRecentCoverage } from '../store/coverage.ts';
import { openReportingDatabase, type Db } from '../store/database.ts';
import type { DroppedContent } from '../store/limit-quarantine.ts';
import { listDestinations } from '../store/destinations.ts';
import type { BlockedChange } from '../store/partition-changes.ts';
import { closing } from './closing.ts';
import type { ServiceConfig } from './load-settings.ts';
import { forwardsIn, receivesIn, storesIn, type Role } from './roles.ts';
import { createStartSteps } from './start-with-database.ts';

/** The observers that the parts of a process report to, and the figures that they add up to. */
export type Observation = Awaited<ReturnType<typeof startObserving>>;

/** Rejects if the database does not answer over these connections. */
export type CheckPool = () => Promise<void>;

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
  const metrics = createMetrics({ version: packageJson.version, role });
  const traces = await openTraces(config.traces, role, logger, opened);
  const askDestinations = createDestinationReader(options);
  let queue: DeliveryQueue | undefined;
  let latest: () => readonly TypeSilence[] = () => [];
  const arrivals = () => latest();
  let blocked: () => readonly BlockedChange[] = () => [];
  const storing = createStoringProgress();
  const pools = new Map<string, CheckPool>();
  const gauge = createProcessGauge({
    receives: receivesIn(role),
    stores: storesIn(role),
    queueState: () => queue?.state(),
  });
  opened.defer(() => gauge.close());
  const refused = createRefusedCounter();
  return {
    ...observeParts(options, metrics, gauge, { askDestinations, arrivals, refused }),
    metrics,
    /** Undefined unless traces are configured. */
    traces,
    /** What the worker is doing. */
    storing,
    /** The steps of the start. */
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
    blockedChanges: () => blocked(),
    /** Follows the maintenance, once it runs. */
    followMaintenance(next: typeof blocked): void {
      blocked = next;
    },
    /** Follows the silence watch, once it runs. */
    followArrivals(next: typeof latest): void {
      latest = next;
    },
    /** Adds the figures of the queue, once it is open. */
    followQueue(next: DeliveryQueue): void {
      queue = next;
      registerQueueMetrics(metrics.registry, next);
    },
    /** Reports in the database that this process is alive, and how ready, until everything is closed. */
    startReport(databaseUrl: string, readiness: Readiness, toClose: AsyncDisposableStack): void {
      const report = startProcessReport({
        db: openReportingDatabase(databaseUrl, (error) =>
          logger.debug(`the connection of the process report was lost: ${describeError(error)}`),
        ),
        identity: identify(role),
        figures: async () => ({
          ...gauge.figures(),
          problems: (await readiness.describe()).checks.filter(isProblem),
        }),
        refused: receivesIn(role) ? refused : undefined,
        logger,
      });
      toClose.defer(closing(logger, 'report of the process', () => report.stop()));
    },
  };
}

interface Figures {
  readonly askDestinations: AskDestinations;
  readonly arrivals: () => readonly TypeSilence[];
  readonly refused: RefusedCounter;
}

/** The observers of the parts that the role runs. */
function observeParts(
  { config, role, db }: ObservationOptions,
  { registry }: Metrics,
  gauge: ProcessGauge,
  { askDestinations, arrivals, refused }: Figures,
) {
  const sourceLabel = createSourceLabel(() => config.sources.map(({ name }) => name));
  const ingest = receivesIn(role) ? createIngestMetrics(registry, sourceLabel) : undefined;
  const countStored = storesIn(role) ? createStoringMetrics(registry, sourceLabel) : undefined;
  const onQuarantineDropped = storesIn(role) ? createQuarantineMetrics(registry, sourceLabel) : undefined;
  const onSubscriptionsChecked = storesIn(role) ? createSubscriptionMetrics(registry) : undefined;
  const forwarding = forwardsIn(role) ? createForwardingMetrics(registry, askDestinations) : undefined;
  if (storesIn(role)) registerArrivalMetrics(registry, arrivals);
  if (storesIn(role) && db !== undefined) {
    registerCoverageMetrics(
      registry,
      sourceLabel,
      cached(() => countRecentCoverage(db), COVERAGE_CACHE),
    );
  }
  const ingestObserver: IngestObserver = {
    taken(delivery, seconds) {
      ingest?.taken(delivery, seconds);
      gauge.answered(seconds);
    },
    refused(status) {
      ingest?.refused(status);
      gauge.refused();
    },
    deferred: (source, messageType) => refused.add(source, messageType),
  };
  const forwardObserver: ForwardObserver = {
    sent: (destination, events) => forwarding?.sent(destination, events),
    failed: (destination) => forwarding?.failed(destination),
  };
  const onCommitted: OnCommitted = (deliveries) => ingest?.committed(deliveries);
  return {
    ingest: ingestObserver,
    forwarding: forwardObserver,
    onCommitted,
    /** Called after every transaction with what it stored, and its duration. */
    onStored(stored: Stored, seconds: number): void {
      countStored?.(stored, seconds);
      const events = stored.sums.reduce((sum, one) => sum + one.events, 0);
      gauge.stored(events, seconds);
    },
    onQuarantineDropped: (dropped: DroppedContent) => onQuarantineDropped?.(dropped),
    /** Called when a rule has raised an alert. */
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
  opened.defer(closing(logger, 'traces', () => traces.stop()));
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
  processId: randomUUID(),
  role,
  host: os.hostname(),
  pid: process.pid,
  version: packageJson.version,
  startedAt: new Date(Date.now() - process.uptime() * 1000),
});
