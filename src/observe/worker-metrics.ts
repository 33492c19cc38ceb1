import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { MessageType } from '../domain.ts';
import { PREFIX } from './metrics.ts';
import type { Stored } from './sum-stored.ts';

/** Seconds. */
const STORE_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Deliveries: a transaction contains the batches of at most 16 jobs. */
const STORE_DELIVERIES_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096];

/** Registers the metrics of storing. Call the result after each transaction, with what it stored and its duration. */
export function createStoringMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
): (stored: Stored, seconds: number) => void {
  const registers = [registry];
  const labelNames = ['source', 'message_type'] as const;
  const counter = (name: string, help: string) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const events = counter('events_stored_total', 'Events stored as new rows');
  const duplicates = counter('duplicates_total', 'Events that an earlier delivery had already stored');
  const quarantined = counter('quarantined_total', 'Quarantined records and whole bodies');
  const durations = new Histogram({
    name: `${PREFIX}store_duration_seconds`,
    help: 'Duration of a transaction that stored deliveries, including waits',
    buckets: STORE_BUCKETS,
    registers,
  });
  const deliveries = new Histogram({
    name: `${PREFIX}store_deliveries`,
    help: 'Deliveries stored by one transaction',
    buckets: STORE_DELIVERIES_BUCKETS,
    registers,
  });
  return (stored, seconds) => {
    durations.observe(seconds);
    deliveries.observe(stored.deliveries);
    for (const sum of stored.sums) {
      const labels = { source: sourceLabel(sum.source), message_type: sum.messageType };
      events.inc(labels, sum.events);
      duplicates.inc(labels, sum.duplicates);
      // Also by 0: an increase shows only if its series exists before it.
      quarantined.inc(labels, sum.quarantined);
    }
  };
}

/** Registers the metrics of quarantined content that was deleted. Call the result each time, with what was deleted. */
export function createQuarantineMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
): (dropped: {
  readonly source: string;
  readonly reason: string;
  readonly items: number;
  readonly bytes: number;
}) => void {
  const registers = [registry];
  const labelNames = ['source', 'reason'] as const;
  const items = new Counter({
    name: `${PREFIX}quarantine_dropped_total`,
    help: 'Quarantined items whose content was deleted because of a limit on size or age',
    labelNames,
    registers,
  });
  const bytes = new Counter({
    name: `${PREFIX}quarantine_dropped_bytes_total`,
    help: 'Size of the quarantined content that was deleted because of a limit on size or age',
    labelNames,
    registers,
  });
  return ({ source, reason, ...dropped }) => {
    const labels = { source: sourceLabel(source), reason };
    items.inc(labels, dropped.items);
    bytes.inc(labels, dropped.bytes);
  };
}

/** When the last event of one source and message type was received, and whether its silence is unusual. */
export interface Arrival {
  readonly source: string;
  readonly messageType: MessageType;
  readonly lastReceivedAt: Date | undefined;
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
}

/** Registers the metrics of arrivals and silences. */
export function registerArrivalMetrics(registry: Registry, latest: () => readonly Arrival[]): void {
  const labelNames = ['source', 'message_type'] as const;
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}last_event_timestamp_seconds`,
      help: 'Time at which the last event was received, in seconds since 1970',
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const { source, messageType, lastReceivedAt } of latest()) {
          if (lastReceivedAt === undefined) continue;
          this.set({ source, message_type: messageType }, lastReceivedAt.getTime() / 1000);
        }
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}silence_unusual`,
      help: '1 while no events have arrived for longer than usual, as learned from past events',
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const { source, messageType, state } of latest()) {
          this.set({ source, message_type: messageType }, state === 'unusual' ? 1 : 0);
        }
      },
    }),
  );
}

/**
 * Registers the drift of the webhook subscriptions. Call the result after each check of the cloud, with the number of
 * changes that the subscriptions of the source need.
 */
export function createSubscriptionMetrics(registry: Registry): (source: string, changes: number) => void {
  const drift = new Gauge({
    name: `${PREFIX}subscriptions_drift`,
    help: 'Changes needed to bring the webhook subscriptions in the cloud in line with the settings, as of the last check (every 10 minutes)',
    labelNames: ['source'],
    registers: [registry],
  });
  return (source, changes) => drift.set({ source }, changes);
}
