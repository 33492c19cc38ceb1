import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import type { Db } from '../store/database.ts';
import { removeProcess, reportProcess } from '../store/processes.ts';
import type { ProcessFigures, ProcessIdentity } from '../store/processes.ts';

export interface ProcessReportOptions {
  /** Connections of its own: nothing waits for them. It is closed with the report. */
  readonly db: Db;
  readonly identity: ProcessIdentity;
  readonly figures: () => ProcessFigures;
  readonly logger: Logger;
}

const INTERVAL_MS = 10_000;

/** A database that is away must not hold up a shut-down. */
const STOP_TIMEOUT_MS = 1_500;

/**
 * Writes down in the database that this process lives and how it is, now and every 10 s. While the database is away
 * it says so to the debug log only: whoever needs the database reports that. Stopping removes the row.
 */
export function startProcessReport({ db, identity, figures, logger }: ProcessReportOptions): {
  stop(): Promise<void>;
} {
  let running: Promise<void> | undefined;

  async function report(): Promise<void> {
    try {
      await reportProcess(db, identity, figures());
    } catch (error) {
      logger.debug(`this process could not be written down: ${describeError(error)}`);
    }
  }

  /** A report that hangs is not overtaken by the next. */
  function reportUnlessRunning(): void {
    running ??= report().finally(() => {
      running = undefined;
    });
  }

  async function leave(): Promise<void> {
    await running;
    await removeProcess(db, identity.processId).catch((error: unknown) => {
      logger.debug(`the row of this process stays for a day: ${describeError(error)}`);
    });
    await db.destroy();
  }

  reportUnlessRunning();
  const timer = setInterval(reportUnlessRunning, INTERVAL_MS);
  return {
    async stop() {
      clearInterval(timer);
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const patience = setTimeout(resolve, STOP_TIMEOUT_MS);
      await Promise.race([leave(), late]);
      clearTimeout(patience);
    },
  };
}
