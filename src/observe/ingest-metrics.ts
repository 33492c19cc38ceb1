import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { PREFIX } from './metrics.ts';

/** What is counted of a delivery. */
interface Taken {
  readonly source: string;
  readonly messageType: string;
  readonly recordCount: number;
  readonly bodyBytes: number;
}

/** What the ingest endpoint and the way into the queue tell. */
export interface IngestMetrics {
  taken(delivery: Taken, seconds: number): void;
  refused(status: number): void;
  committed(deliveries: number): void;
}

/** Seconds, from what the queue takes at best to what a sender may wait for. */
const ANSWER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Deliveries: a batch holds at most 512. */
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Registers the metrics of a process that takes deliveries. */
export function createIngestMetrics(
  registry: Registry,
  sourceLabel: (source: string) => string,
): IngestMetrics {
  const registers = [registry];
  const labelNames = ['source', 'message_type'] as const;
  const deliveries = new Counter({
    name: `${PREFIX}deliveries_total`,
    help: 'Deliveries taken: durable in the queue or the spool',
    labelNames,
    registers,
  });
  const records = new Counter({
    name: `${PREFIX}records_total`,
    help: 'Records of the deliveries taken, unreadable ones among them',
    labelNames,
    registers,
  });
  const bytes = new Counter({
    name: `${PREFIX}received_bytes_total`,
    help: 'Bytes of the bodies of the deliveries taken, as sent',
    registers,
  });
  const refusals = new Counter({
    name: `${PREFIX}refused_total`,
    help: 'Requests answered with an error, by HTTP status',
    labelNames: ['status'],
    registers,
  });
  const answers = new Histogram({
    name: `${PREFIX}answer_duration_seconds`,
    help: 'Time from the headers of a delivery until it is durable',
    buckets: ANSWER_BUCKETS,
    registers,
  });
  const batches = new Histogram({
    name: `${PREFIX}batch_deliveries`,
    help: 'Deliveries that one write made durable together',
    buckets: BATCH_BUCKETS,
    registers,
  });
  return {
    taken({ source, messageType, recordCount, bodyBytes }, seconds) {
      const labels = { source: sourceLabel(source), message_type: messageType };
      deliveries.inc(labels);
      records.inc(labels, recordCount);
      bytes.inc(bodyBytes);
      answers.observe(seconds);
    },
    refused: (status) => refusals.inc({ status }),
    committed: (count) => batches.observe(count),
  };
}
