/** The engine of the queue of one life of a process: what BullMQ does, against the simulated queues. */
import { DelayedError } from 'bullmq';
import { toError } from '../../../src/lib/errors.ts';
import type { DeliveryBatch } from '../../../src/queue/delivery-batch.ts';
import type { Job } from '../queue.ts';
import { startingProcess } from '../simulated-process.ts';

const self = startingProcess();
const { queues, troubles } = self.surroundings;

const WAY_MS = 0.15;

const refused = () =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });

/** How long a client waits for a server that does not answer, in milliseconds. */
const UNHEARD_MS = 15_000;

/** A command that was sent twice arrives again up to so much later. */
const TWICE_MS = 20_000;

async function command<T>(work: () => T, isRepeated = true): Promise<T> {
  const way = WAY_MS * troubles.slowness('queue', self.nextRandom());
  const trouble = troubles.ofQueue();
  switch (trouble) {
    case 'refused':
      return self.ask<T>(way, () => {
        throw refused();
      });
    case 'unheard':
      return self.ask<T>(UNHEARD_MS, () => {
        throw refused();
      });
    case 'unanswered':
      await self.ask(way, work, UNHEARD_MS);
      throw refused();
    case 'twice': {
      if (isRepeated)
        self.surroundings.clockwork.after(self.nextRandom() * TWICE_MS, () => {
          try {
            work();
          } catch {
            // The first one has done it.
          }
        });
      return self.ask(way, work);
    }
    case undefined:
      return self.ask(way, work);
  }
}

interface JobOptions {
  readonly jobId: string;
  readonly priority: number;
  readonly delay: number;
}

/** Who starts to check who owns the queue finds nobody. */
export const checkOwner = async () => undefined;

export const createRedisEngine = () => ({
  connectProducer(name: string) {
    const queue = queues.get(name);
    const counts = () => command(() => queue.count());
    return {
      bullmq: {
        waitUntilReady: () => command(() => undefined),
        add: (_job: string, data: DeliveryBatch, { jobId, priority, delay }: JobOptions) => {
          const timestamp = self.readClock();
          return command(() => queue.add(jobId, data, { timestamp, priority, delay }));
        },
        async getJobCountByTypes() {
          const { wait, active } = await counts();
          return wait + active;
        },
        getJobCounts: counts,
        on: () => undefined,
        close: async () => undefined,
      },
      ping: () => command(() => undefined),
      findOldest: async () => undefined,
      weaknesses: async () => [],
      disconnect: async () => undefined,
    };
  },
  connectWorker(name: string, processor: Processor, options: WorkerOptions, onError: (error: Error) => void) {
    const worker = new Worker(name, processor, options, onError);
    return {
      bullmq: {
        getBackend: () => ({
          getCounts: async () => [0],
          retryFinishedJobs: async () => 0,
          remove: (jobId: string) => command(() => queues.get(name).remove(jobId)),
        }),
        waitUntilReady: async () => undefined,
        on: () => undefined,
        close: (force = false) => worker.close(force),
      },
      isConnected: () => true,
      disconnect: async () => undefined,
    };
  },
});

type Processor = (job: object, token: string) => Promise<void>;

interface WorkerOptions {
  readonly concurrency: number;
  readonly lockDuration: number;
  readonly stalledInterval: number;
  readonly runRetryDelay: number;
}

/** BullMQ's own, in milliseconds: how long a worker waits for a job before it asks again, and the delay of one that failed. */
const DRAIN_MS = 5_000;
const BACKOFF_MS = 5_000;

class Worker {
  readonly #queue;
  readonly #processor: Processor;
  readonly #options: WorkerOptions;
  readonly #onError: (error: Error) => void;
  readonly #active = new Map<string, string>();
  readonly #inHand = new Set<Promise<void>>();
  #isClosing = false;
  #isAsking = false;
  #tokens = 0;

  constructor(name: string, processor: Processor, options: WorkerOptions, onError: (error: Error) => void) {
    this.#queue = queues.get(name);
    this.#processor = processor;
    this.#options = options;
    this.#onError = onError;
    this.#repeat(options.lockDuration / 2, () => this.#renew());
    this.#repeat(options.stalledInterval, () => command(() => this.#queue.checkStalled()));
    void this.#fetch();
  }

  async close(force: boolean): Promise<void> {
    this.#isClosing = true;
    if (!force) while (this.#inHand.size > 0) await Promise.all(this.#inHand);
  }

  #repeat(ms: number, work: () => Promise<void>): void {
    self.after(ms, () => {
      if (this.#isClosing && this.#inHand.size === 0) return;
      work().catch(this.#onError);
      this.#repeat(ms, work);
    });
  }

  async #renew(): Promise<void> {
    const held = [...this.#active];
    const { lockDuration } = this.#options;
    const lost = await command(() =>
      held.filter(([id, token]) => !this.#queue.extend(id, token, lockDuration)),
    );
    for (const [id] of lost) {
      if (this.#active.has(id)) this.#onError(new Error(`could not renew lock for job ${id}`));
    }
  }

  /** Fetches jobs until none is left or as many as may be are in hand. */
  async #fetch(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (!this.#isClosing && this.#inHand.size < this.#options.concurrency) {
        this.#tokens += 1;
        const token = `${self.name} ${this.#tokens}`;
        const job = await command(() => this.#queue.claim(token, this.#options.lockDuration), false);
        if (job === undefined) {
          this.#wait();
          return;
        }
        this.#start(job, token);
      }
    } catch (error) {
      this.#onError(toError(error));
      self.after(this.#options.runRetryDelay, () => void this.#fetch());
    } finally {
      this.#isAsking = false;
    }
  }

  #wait(): void {
    let isWoken = false;
    const wake = () => {
      if (isWoken) return;
      isWoken = true;
      self.surroundings.clockwork.cancel(drained);
      self.after(WAY_MS, () => void this.#fetch());
    };
    const drained = self.after(DRAIN_MS, wake);
    this.#queue.listen(wake);
  }

  #start(job: Job, token: string): void {
    const work = this.#process(job, token).finally(() => {
      this.#inHand.delete(work);
      void this.#fetch();
    });
    this.#inHand.add(work);
  }

  async #process(job: Job, token: string): Promise<void> {
    const { id } = job;
    this.#active.set(id, token);
    const given = {
      id,
      timestamp: job.timestamp,
      data: job.stored,
      progress: job.progress,
      stalledCounter: job.stalledCounter,
      attemptsStarted: job.attemptsStarted,
      updateProgress: (progress: unknown) => command(() => this.#queue.setProgress(id, progress)),
      moveToDelayed: (dueAt: number) => {
        const delay = dueAt - self.readClock();
        return command(() => this.#queue.delay(id, token, self.surroundings.clockwork.now + delay));
      },
    };
    try {
      await this.#processor(given, token);
      await this.#end(() => this.#queue.finish(id, token));
    } catch (error) {
      if (error instanceof DelayedError) return;
      this.#onError(toError(error));
      await this.#end(() => this.#queue.delay(id, token, self.surroundings.clockwork.now + BACKOFF_MS)).catch(
        this.#onError,
      );
    } finally {
      if (this.#active.get(id) === token) this.#active.delete(id);
    }
  }

  /** While the server is away, BullMQ tries again until the job has another worker. */
  async #end(work: () => void): Promise<void> {
    for (;;) {
      try {
        await command(work);
        return;
      } catch (error) {
        if (!(error instanceof Error && 'syscall' in error) || this.#isClosing) throw error;
      }
      await new Promise<void>((resolve) => self.after(this.#options.runRetryDelay, resolve));
    }
  }
}
