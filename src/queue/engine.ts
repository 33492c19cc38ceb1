import type { JobsOptions, JobType, Processor, QueueOptions, WorkerOptions } from 'bullmq';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { RedisQueues } from './redis-client.ts';

/** The server of the queue: Redis (or Valkey, or another server with its protocol), or Postgres. */
export type QueueLocation =
  | ({ readonly kind: 'redis' } & RedisQueues)
  | {
      readonly kind: 'postgres';
      readonly databaseUrl: string;
      /** The same database without a pooler in between, if it is known how to reach it so. */
      readonly directUrl?: string | undefined;
    };

/** The part of BullMQ's queue and worker that is the same in both engines. */
interface Connected<T> {
  readonly bullmq: T & {
    on(event: 'error', listener: OnError): unknown;
    /** Forced, it does not wait for the engine or for jobs in progress. */
    close(force?: boolean): Promise<void>;
  };
  /** Ends the underlying connection, after BullMQ has closed. */
  disconnect(): Promise<void>;
}

/** When it was added (epoch milliseconds), and how often a worker has begun with it. */
export interface DelayedJob {
  readonly timestamp: number;
  readonly attemptsStarted: number;
}

interface Producer {
  /** Resolves once jobs can be added. After one failure it always rejects. */
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: DeliveryBatch, options: JobsOptions): Promise<unknown>;
  getJobCountByTypes(...types: JobType[]): Promise<number>;
  getJobCounts(...types: JobType[]): Promise<Readonly<Record<string, number>>>;
  getJobs(
    types: JobType[],
    start: number,
    end: number,
    asc: boolean,
  ): Promise<readonly (DelayedJob | undefined)[]>;
}

export interface ConnectedProducer extends Connected<Producer> {
  /** Sends the engine a request; rejects if it does not answer. */
  ping(): Promise<unknown>;
  /**
   * Of this many jobs in this state the one whose turn is next (the one that was added first, unless they have ranks),
   * with its time in epoch milliseconds; undefined if none is waiting any more.
   */
  findOldest(
    state: 'wait' | 'prioritized',
    waiting: number,
  ): Promise<{ readonly timestamp: number } | undefined>;
  /** Settings of the server that may lose acknowledged jobs, each as a sentence. */
  weaknesses(): Promise<string[]>;
}

interface ConnectedWorker extends Connected<{ getBackend(): Jobs; waitUntilReady(): Promise<unknown> }> {
  /** Whether the engine can be reached now, as far as the connection knows without a request. */
  isConnected(): boolean;
}

/** The part of BullMQ's backend that puts failed jobs back and removes jobs, the same in both engines. */
export interface Jobs {
  getCounts(types: ['failed']): Promise<number[]>;
  /** Moves some of them back to waiting; resolves with a number other than 0 while there may be more. */
  retryFinishedJobs(state: 'failed'): Promise<number>;
  /** Resolves with 0 if the job is gone, or a worker has it. */
  remove(jobId: string, removeChildren: boolean): Promise<number>;
}

/** One engine behind BullMQ. Neither call waits for the server, which may start later. */
export interface Engine {
  connectProducer(
    name: string,
    options: Omit<QueueOptions, 'connection'>,
    onError: OnError,
  ): ConnectedProducer;
  connectWorker(
    name: string,
    processor: Processor<DeliveryBatch>,
    options: Omit<WorkerOptions, 'connection'>,
    onError: OnError,
  ): ConnectedWorker;
}

export type OnError = (error: Error) => void;
