import type { Logger } from 'pino';
import type { OnError } from './engine.ts';

/** The part of BullMQ's backend that the sweep uses, alike on both engines. */
export interface FailedJobs {
  getCounts(types: ['failed']): Promise<number[]>;
  /** Moves a portion back to waiting; gives something other than 0 while there may be more. */
  retryFinishedJobs(state: 'failed'): Promise<number>;
}

const SWEEP_INTERVAL_MS = 60_000;

/**
 * Moves the jobs that BullMQ holds for failed back to waiting, now and every minute: none is there by a rule of ours,
 * and all hold deliveries that were answered. Returns what ends it.
 */
export function startFailedJobSweep(jobs: FailedJobs, logger: Logger, onError: OnError): () => void {
  const sweep = async () => {
    try {
      const [failed = 0] = await jobs.getCounts(['failed']);
      if (failed === 0) return;
      while ((await jobs.retryFinishedJobs('failed')) !== 0);
      logger.error({ jobs: failed }, 'jobs that the queue had given up are back in it');
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), SWEEP_INTERVAL_MS);
  return () => clearInterval(timer);
}
