import type { QueuedDelivery } from './delivery-batch.ts';

/**
 * A worker in the process that accepts deliveries. It stores a batch from memory, while the job is only the durable copy:
 * added with a delay, and removed once the rows are committed. Nobody has to claim, read and finish that job, which was
 * half of what Postgres did for a queue of its own.
 */
export interface NearWorker {
  /** The batches in its hands. */
  readonly inHand: number;
  /** Whether it takes another one. */
  isFree(): boolean;
  /** Takes the batch of this job in the queue of this name. It handles every failure itself, by leaving the job. */
  take(name: string, jobId: string, deliveries: readonly QueuedDelivery[]): void;
}

/**
 * A job whose batch is in the hands of a near worker becomes due after so long, and goes to any worker then: the process
 * has ended, or could not store it. As long as the batch of a killed worker waits for another one.
 */
export const IN_HAND_MS = 15_000;
