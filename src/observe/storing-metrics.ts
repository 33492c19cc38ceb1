import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { PREFIX } from './metrics.ts';

/** What is counted of a delivery that was stored. */
interface StoredRow {
  readonly source: string;
  readonly messageType: string;
  readonly eventCount: number;
  readonly duplicateCount: number;
  readonly quarantinedCount: number;
}

/** Seconds. */
const STORE_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Deliveries: a transaction holds the batches of at most 16 jobs. */
const STORE_DELIVERIES_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096];

/** Registers the metrics of a worker. Gives what is told of every transaction: its deliveries' rows and its time. */
export function createStoringMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
): (rows: readonly StoredRow[], seconds: number) => void {
  const registers = [registry];
  const labelNames = ['source', 'message_type'] as const;
  const counter = (name: string, help: string) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const events = counter('events_stored_total', 'Events stored as new rows');
  const duplicates = counter('duplicates_total', 'Events that were stored already, by an earlier delivery');
  const quarantined = counter('quarantined_total', 'Records, or whole bodies, that went to quarantine');
  const durations = new Histogram({
    name: `${PREFIX}store_duration_seconds`,
    help: 'Time of a transaction that stored deliveries, with what it had to wait for',
    buckets: STORE_BUCKETS,
    registers,
  });
  const deliveries = new Histogram({
    name: `${PREFIX}store_deliveries`,
    help: 'Deliveries that one transaction stored together',
    buckets: STORE_DELIVERIES_BUCKETS,
    registers,
  });
  return (rows, seconds) => {
    durations.observe(seconds);
    deliveries.observe(rows.length);
    for (const { source, messageType, ...counts } of rows) {
      const labels = { source: sourceLabel(source), message_type: messageType };
      events.inc(labels, counts.eventCount);
      duplicates.inc(labels, counts.duplicateCount);
      // Also by 0: a series that begins with its first increase does not show that increase.
      quarantined.inc(labels, counts.quarantinedCount);
    }
  };
}
