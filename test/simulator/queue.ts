import type { DeliveryBatch } from '../../src/queue/delivery-batch.ts';

/** A job of BullMQ, as far as the product sees it. */
export interface Job {
  readonly id: string;
  readonly timestamp: number;
  readonly priority: number;
  data: DeliveryBatch | undefined;
  readonly stored: DeliveryBatch;
  progress: unknown;
  stalledCounter: number;
  attemptsStarted: number;
  state: 'wait' | 'active' | 'delayed';
  /** Of a waiting job: those of a lower one are before it. */
  turn: number;
  /** Of an active job: who has it, and until when. */
  token: string | undefined;
  lockedUntil: number;
  /** Not renewed since the last check of stalled jobs. */
  isSuspect: boolean;
  dueAt: number;
}

/** One queue on the server: BullMQ's scripts, each of which runs whole. */
export class SimulatedQueue {
  readonly jobs = new Map<string, Job>();
  /** The last job that was added with a delivery. */
  readonly #jobWith = new Map<string, Job>();
  readonly #waiting: Job[] = [];
  readonly #delayed = new Set<Job>();
  readonly #now: () => number;
  /** Workers that wait for a job. */
  readonly #listeners = new Set<() => void>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds a job unless one with its id is there. With a delay, workers get it so many milliseconds later. */
  add(
    id: string,
    data: DeliveryBatch,
    { timestamp, priority, delay }: { timestamp: number; priority: number; delay: number },
  ): void {
    if (this.jobs.has(id)) return;
    const job: Job = {
      id,
      timestamp,
      priority,
      data: undefined,
      stored: data,
      progress: 0,
      stalledCounter: 0,
      attemptsStarted: 0,
      state: delay > 0 ? 'delayed' : 'wait',
      turn: priority,
      token: undefined,
      lockedUntil: 0,
      isSuspect: false,
      dueAt: this.#now() + delay,
    };
    this.jobs.set(id, job);
    for (const { deliveryId } of data.deliveries) this.#jobWith.set(deliveryId, job);
    if (delay > 0) this.#delayed.add(job);
    else this.#wait(job);
  }

  /** Removes a job, if there is one. Returns 0 if a worker has it, and 1 otherwise. */
  remove(id: string): number {
    const job = this.jobs.get(id);
    if (job === undefined) return 1;
    if (job.state === 'active' && job.lockedUntil > this.#now()) return 0;
    this.jobs.delete(id);
    this.#delayed.delete(job);
    const at = this.#waiting.indexOf(job);
    if (at !== -1) this.#waiting.splice(at, 1);
    return 1;
  }

  /** Takes the job whose turn it is. */
  claim(token: string, lockMs: number): Job | undefined {
    for (const job of this.#delayed) {
      if (job.dueAt > this.#now()) continue;
      this.#delayed.delete(job);
      this.#wait(job);
    }
    const job = this.#waiting.shift();
    if (job === undefined) return undefined;
    job.state = 'active';
    job.token = token;
    job.lockedUntil = this.#now() + lockMs;
    job.isSuspect = false;
    job.attemptsStarted += 1;
    return job;
  }

  /** Renews the lock of a job. Returns whether it still had it. */
  extend(id: string, token: string, lockMs: number): boolean {
    const job = this.#locked(id, token);
    if (job === undefined) return false;
    job.lockedUntil = this.#now() + lockMs;
    job.isSuspect = false;
    return true;
  }

  /** Removes a job. Throws if its lock is lost. */
  finish(id: string, token: string): void {
    if (this.#locked(id, token) === undefined) throw new Error(`Missing lock for job ${id}. moveToFinished`);
    this.jobs.delete(id);
  }

  delay(id: string, token: string, dueAt: number): void {
    const job = this.#locked(id, token);
    if (job === undefined) throw new Error(`Missing lock for job ${id}. moveToDelayed`);
    job.state = 'delayed';
    job.token = undefined;
    job.dueAt = dueAt;
    this.#delayed.add(job);
  }

  setProgress(id: string, progress: unknown): void {
    const job = this.jobs.get(id);
    if (job === undefined) throw new Error(`Missing key for job ${id}. updateProgress`);
    job.progress = progress;
  }

  /** Lets jobs wait in front of all others that have no lock, and that no worker has renewed since the last check. */
  checkStalled(): void {
    for (const job of this.jobs.values()) {
      if (job.state !== 'active') continue;
      if (job.isSuspect && job.lockedUntil <= this.#now()) {
        job.token = undefined;
        job.stalledCounter += 1;
        job.turn = 0;
        this.#insert(job, 0);
      } else {
        job.isSuspect = true;
      }
    }
  }

  /** Whether the last job that was added with this delivery is there. */
  hasDelivery(deliveryId: string): boolean {
    const job = this.#jobWith.get(deliveryId);
    return job !== undefined && this.jobs.get(job.id) === job;
  }

  count(): Record<'wait' | 'active' | 'delayed', number> {
    const counts = { wait: 0, active: 0, delayed: 0 };
    for (const { state } of this.jobs.values()) counts[state] += 1;
    return counts;
  }

  /** Loses everything. */
  flush(): void {
    this.jobs.clear();
    this.#waiting.length = 0;
    this.#delayed.clear();
  }

  /** Calls the listener once when a job is added. */
  listen(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** A lock that ran out is gone, whoever had it. */
  #locked(id: string, token: string): Job | undefined {
    const job = this.jobs.get(id);
    return job?.token === token && job.lockedUntil > this.#now() ? job : undefined;
  }

  #wait(job: Job): void {
    job.turn = job.priority;
    const at = this.#waiting.findIndex(({ turn }) => turn > job.turn);
    this.#insert(job, at === -1 ? this.#waiting.length : at);
  }

  #insert(job: Job, place: number): void {
    job.state = 'wait';
    this.#waiting.splice(place, 0, job);
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

/** The queues of a server, by name. */
export class SimulatedQueues {
  readonly all = new Map<string, SimulatedQueue>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(name: string): SimulatedQueue {
    const queue = this.all.get(name) ?? new SimulatedQueue(this.#now);
    this.all.set(name, queue);
    return queue;
  }

  /** Whether a job has this delivery. */
  hasDelivery(deliveryId: string): boolean {
    return this.all.values().some((queue) => queue.hasDelivery(deliveryId));
  }
}
