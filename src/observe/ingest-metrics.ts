import type { Registry } from 'prom-client';
import { metersOf } from './metrics.ts';
import { cached } from '../lib/cached.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import type { FairQueue } from '../queue/fair-queue.ts';

export type IngestMetrics = ReturnType<typeof createIngestMetrics>;

/** Seconds, from the best time of the queue to the longest that a sender may wait. */
const ANSWER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Deliveries: a batch contains at most 512. */
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Registers the metrics of a process that receives deliveries. */
export function createIngestMetrics(registry: Registry, sourceLabel: (source: string) => string) {
  const { counter, histogram } = metersOf(registry);
  const labels = ['source', 'message_type'] as const;
  const deliveries = counter(
    'deliveries_total',
    'Accepted deliveries: durable in the queue or the spool',
    ...labels,
  );
  const records = counter(
    'records_total',
    'Records of the accepted deliveries, including unreadable ones',
    ...labels,
  );
  const bytes = counter(
    'received_bytes_total',
    'Size of the bodies of the accepted deliveries, as sent, in bytes',
  );
  const refusals = counter('refused_total', 'Requests answered with an error, by HTTP status', 'status');
  const answers = histogram(
    'answer_duration_seconds',
    'Time from the headers of a delivery until it is durable',
    ANSWER_BUCKETS,
  );
  const batches = histogram('batch_deliveries', 'Deliveries made durable by one write', BATCH_BUCKETS);
  return {
    accepted(
      {
        source,
        messageType,
        recordCount,
        bodyBytes,
      }: Pick<QueuedDelivery, 'source' | 'messageType' | 'recordCount' | 'bodyBytes'>,
      seconds: number,
    ): void {
      const labels = { source: sourceLabel(source), message_type: messageType };
      deliveries.inc(labels);
      records.inc(labels, recordCount);
      bytes.inc(bodyBytes);
      answers.observe(seconds);
    },
    refused: (status: number) => refusals.inc({ status }),
    committed: (count: number) => batches.observe(count),
  };
}

/** A scrape must not wait for a queue that is down, and frequent scrapes must not load the queue. */
const QUEUE_CACHE = { keepMs: 5_000, timeoutMs: 1_000 };

const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

/** Registers the metrics of the queue and of this process's spool. Each scrape reads them. */
export function registerQueueMetrics(registry: Registry, queue: Pick<FairQueue, 'measure' | 'state'>): void {
  const measure = cached(() => queue.measure(), QUEUE_CACHE);
  const { gauge } = metersOf(registry);
  gauge(
    'queue_jobs',
    'Jobs: waiting, active, delayed (to be retried, or being stored by another process), failed; absent while the queue is down',
    async () => {
      const jobs = await measure();
      return jobs === undefined ? [] : JOB_STATES.map((state) => [{ state }, jobs[state]] as const);
    },
    'state',
  );
  gauge(
    'queue_oldest_job_age_seconds',
    'Age of the oldest waiting job; 0 when the queue is empty, NaN while the queue is unavailable',
    async () => {
      const jobs = await measure();
      return jobs === undefined ? Number.NaN : (jobs.oldestWaitingSeconds ?? 0);
    },
  );
  const state = () => queue.state();
  gauge('queue_works', '1 while the queue accepts deliveries, 0 while deliveries go to the spool', () =>
    state().works ? 1 : 0,
  );
  gauge('spool_bytes', 'Size of the deliveries in the disk spool of this process', () => state().spool.bytes);
  gauge('spool_segments', 'Files in the disk spool of this process', () => state().spool.segments);
  gauge(
    'spool_oldest_age_seconds',
    'Age of the oldest file in the disk spool; 0 when the spool is empty',
    () => {
      const { oldestAt } = state().spool;
      return oldestAt === undefined ? 0 : (Date.now() - oldestAt) / 1000;
    },
  );
}
