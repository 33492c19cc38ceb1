import type { Registry } from 'prom-client';
import type { StateCount } from '../store/reconcile/coverage.ts';
import type { WrongTimes } from '../store/events/event-times.ts';
import type { DroppedContent } from '../store/quarantine/limit-quarantine.ts';
import { metersOf } from './metrics.ts';
import type { TypeSilence } from './silence/silence.ts';
import type { NewDelivery } from '../store/deliveries/deliveries.ts';

/** Seconds. */
const STORE_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Deliveries: a transaction contains the batches of at most 16 jobs. */
const STORE_DELIVERIES_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096];

const LABELS = ['source', 'message_type'] as const;

/** Registers the metrics of storing. Call the result after each transaction, with what it stored and its duration. */
export function createStoringMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
): (stored: Stored, seconds: number) => void {
  const { counter, histogram } = metersOf(registry);
  const events = counter('events_stored_total', 'Events stored as new rows', ...LABELS);
  const duplicates = counter(
    'duplicates_total',
    'Events that an earlier delivery had already stored',
    ...LABELS,
  );
  const quarantined = counter('quarantined_total', 'Quarantined records and whole bodies', ...LABELS);
  const durations = histogram(
    'store_duration_seconds',
    'Duration of a transaction that stored deliveries, including waits',
    STORE_BUCKETS,
  );
  const deliveries = histogram(
    'store_deliveries',
    'Deliveries stored by one transaction',
    STORE_DELIVERIES_BUCKETS,
  );
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
): (dropped: DroppedContent) => void {
  const { counter } = metersOf(registry);
  const items = counter(
    'quarantine_dropped_total',
    'Quarantined items whose content was deleted because of a limit on size or age',
    'source',
    'reason',
  );
  const bytes = counter(
    'quarantine_dropped_bytes_total',
    'Size of the quarantined content that was deleted because of a limit on size or age',
    'source',
    'reason',
  );
  return ({ source, reason, ...dropped }) => {
    const labels = { source: sourceLabel(source), reason };
    items.inc(labels, dropped.items);
    bytes.inc(labels, dropped.bytes);
  };
}

/** When the last event of one source and message type was received, and whether its silence is unusual. */
export type Arrival = Pick<TypeSilence, 'source' | 'messageType' | 'lastReceivedAt' | 'state'>;

/** Registers the metrics of arrivals and silences. */
export function registerArrivalMetrics(registry: Registry, latest: () => readonly Arrival[]): void {
  const { gauge } = metersOf(registry);
  const labelsOf = ({ source, messageType }: Arrival) => ({ source, message_type: messageType });
  gauge(
    'last_event_timestamp_seconds',
    'Time at which the last event was received, in seconds since 1970',
    () =>
      latest().flatMap((one) =>
        one.lastReceivedAt === undefined
          ? []
          : [[labelsOf(one), one.lastReceivedAt.getTime() / 1000] as const],
      ),
    ...LABELS,
  );
  gauge(
    'silence_unusual',
    '1 while no events have arrived for longer than usual, as learned from past events',
    () => latest().map((one) => [labelsOf(one), one.state === 'unusual' ? 1 : 0] as const),
    ...LABELS,
  );
}

/** Registers the coverage of the last day. `read` resolves with undefined if the database does not answer. */
export function registerCoverageMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
  read: () => Promise<readonly StateCount[] | undefined>,
): void {
  metersOf(registry).gauge(
    'coverage_quarters',
    'Quarters of an hour in the last 24 h by state: whole, healed, push only, not comparable, unrecoverable, pending',
    async () =>
      ((await read()) ?? [])
        .filter(({ source }) => sourceLabel(source) === source)
        .map(({ quarters, ...labels }) => [{ ...labels }, quarters] as const),
    ...LABELS,
    'state',
  );
}

/** Registers the events whose time has not come. `read` resolves with undefined if the database does not answer. */
export function registerAheadMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
  read: () => Promise<readonly WrongTimes[] | undefined>,
): void {
  metersOf(registry).gauge(
    'events_ahead',
    'Stored events whose time lies more than 5 minutes in the future, at most 10,000 of each family',
    async () =>
      ((await read()) ?? [])
        .filter(({ source }) => sourceLabel(source) === source)
        .map(({ source, messageType, events }) => [{ source, message_type: messageType }, events] as const),
    ...LABELS,
  );
}

/**
 * Registers the drift of the webhook subscriptions. Call the result after each check of the cloud, with the number of
 * changes that the subscriptions of the source need.
 */
export function createSubscriptionMetrics(registry: Registry): (source: string, changes: number) => void {
  const drift = new Map<string, number>();
  metersOf(registry).gauge(
    'subscriptions_drift',
    'Changes needed to bring the webhook subscriptions in the cloud in line with the settings, as of the last check (every 10 minutes)',
    () => [...drift].map(([source, changes]) => [{ source }, changes] as const),
    'source',
  );
  return (source, changes) => void drift.set(source, changes);
}

/** What one transaction stored: the sums over its deliveries. */
export interface Stored {
  readonly deliveries: number;
  readonly sums: readonly StoredSum[];
}

interface StoredSum {
  readonly source: string;
  readonly messageType: string;
  events: number;
  duplicates: number;
  quarantined: number;
}

/** Sums the rows of the deliveries of a transaction. */
export function sumStored(rows: readonly NewDelivery[]): Stored {
  const sums = new Map<string, StoredSum>();
  for (const { source, message_type: messageType, ...counts } of rows) {
    const key = `${messageType} ${source}`;
    const sum = sums.get(key) ?? { source, messageType, events: 0, duplicates: 0, quarantined: 0 };
    sums.set(key, sum);
    sum.events += counts.event_count;
    sum.duplicates += counts.duplicate_count;
    sum.quarantined += counts.quarantined_count;
  }
  return { deliveries: rows.length, sums: [...sums.values()] };
}
