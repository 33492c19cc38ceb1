import type { JobsOptions, JobType, Processor, QueueOptions, WorkerOptions } from 'bullmq';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { FailedJobs } from './failed-job-sweep.ts';
import { createPostgresEngine } from './postgres-engine.ts';
import { createRedisEngine } from './redis-engine.ts';

/** Where the queue is: Redis (also Valkey and what speaks its protocol), or Postgres. */
export type QueueLocation =
  | { readonly kind: 'redis'; readonly url: string }
  | { readonly kind: 'postgres'; readonly databaseUrl: string };

/** The part of BullMQ's queue and worker that both engines give alike. */
interface Connected<T> {
  readonly bullmq: T & {
    on(event: 'error', listener: (error: Error) => void): unknown;
    /** Forced, it does not wait for the engine or for jobs in progress. */
    close(force?: boolean): Promise<void>;
  };
  /** Whether the engine can be reached now, as far as the connection knows without asking. */
  isConnected(): boolean;
  /** Asks the engine for an answer; rejects when it has none. */
  ping(): Promise<unknown>;
  /** Ends the connection below, once BullMQ has closed. */
  disconnect(): Promise<void>;
}

interface Producer {
  /** Resolves once jobs can be added; what has failed once fails for ever. */
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: DeliveryBatch, options: JobsOptions): Promise<unknown>;
  getJobCountByTypes(...types: JobType[]): Promise<number>;
  getJobCounts(...types: JobType[]): Promise<Readonly<Record<string, number>>>;
}

export interface ConnectedProducer extends Connected<Producer> {
  /**
   * Of so many waiting jobs the one that was added first, with its time in epoch milliseconds; undefined when there
   * is none any more.
   */
  findOldest(waiting: number): Promise<{ readonly timestamp: number } | undefined>;
  /** The engine's own settings under which it may lose what it has taken, each in a sentence. */
  weaknesses(): Promise<string[]>;
}

/** One engine behind BullMQ. Neither call waits for the engine, which may come up later. */
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
  ): Connected<{ getBackend(): FailedJobs; waitUntilReady(): Promise<unknown> }>;
}

export type OnError = (error: Error) => void;

/** The engine for a location. */
export function engineAt(location: QueueLocation): Engine {
  return location.kind === 'redis'
    ? createRedisEngine(location.url)
    : createPostgresEngine(location.databaseUrl);
}
