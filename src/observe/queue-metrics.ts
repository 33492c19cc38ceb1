import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { askSeldom } from './ask-seldom.ts';
import { PREFIX } from './metrics.ts';

/** What can be asked of the way into the queue. */
export interface QueueToMeasure {
  measure(): Promise<{
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
    readonly failed: number;
    readonly oldestWaitingSeconds: number | undefined;
  }>;
  state(): {
    readonly works: boolean;
    readonly spool: {
      readonly bytes: number;
      readonly segments: number;
      readonly oldestAt: number | undefined;
    };
  };
}

/** A scrape must not wait for a queue that is away, nor may scrapes become a load of their own. */
const QUEUE_PATIENCE = { keepMs: 5_000, patienceMs: 1_000 };

/** Registers the figures of the queue and of this process's spool; the queue is asked when they are. */
export function registerQueueMetrics(registry: Registry, queue: QueueToMeasure): void {
  const measure = askSeldom(() => queue.measure(), QUEUE_PATIENCE);
  const registers = [registry];
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}queue_jobs`,
      help: 'Jobs in the queue: waiting, active, delayed (to be tried again), failed; none while the queue does not answer',
      labelNames: ['state'],
      registers: [],
      async collect() {
        this.reset();
        const jobs = await measure();
        if (jobs === undefined) return;
        this.set({ state: 'waiting' }, jobs.waiting);
        this.set({ state: 'active' }, jobs.active);
        this.set({ state: 'delayed' }, jobs.delayed);
        this.set({ state: 'failed' }, jobs.failed);
      },
    }),
  );
  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name: PREFIX + name,
      help,
      registers,
      async collect() {
        this.set(await value());
      },
    });
  gauge(
    'queue_oldest_job_age_seconds',
    'Age of the job that has waited longest for a worker; 0 when none waits, NaN while the queue does not answer',
    async () => {
      const jobs = await measure();
      return jobs === undefined ? Number.NaN : (jobs.oldestWaitingSeconds ?? 0);
    },
  );
  const state = () => queue.state();
  gauge('queue_works', '1 while the queue takes deliveries, 0 while they go to the spool', () =>
    state().works ? 1 : 0,
  );
  gauge('spool_bytes', 'Bytes of deliveries in the disk spool of this process', () => state().spool.bytes);
  gauge('spool_segments', 'Files of the disk spool of this process', () => state().spool.segments);
  gauge('spool_oldest_age_seconds', 'Age of the oldest file of the disk spool; 0 when it is empty', () => {
    const { oldestAt } = state().spool;
    return oldestAt === undefined ? 0 : (Date.now() - oldestAt) / 1000;
  });
}
