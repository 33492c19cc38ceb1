import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { describeError } from '../lib/errors.ts';
import { repeat, type Repetition } from '../lib/repeat.ts';
import type { Db } from '../store/server/database.ts';
import { noteReceiving, recordRefused } from '../store/reconcile/gaps.ts';
import { removeProcess, reportProcess } from '../store/server/processes.ts';
import type { ProcessFigures, ProcessIdentity } from '../store/server/processes.ts';
import type { RefusedCounter } from './refused-deliveries.ts';

export interface ProcessReportOptions {
  /** Separate connections, so nothing waits for them. They are closed together with the report. */
  readonly db: Db;
  readonly identity: ProcessIdentity;
  readonly figures: () => Promise<ProcessFigures>;
  /** The deliveries that this process refused; undefined if it accepts none. */
  readonly refused: RefusedCounter | undefined;
  readonly logger: Logger;
}

const INTERVAL_MS = 10_000;

/** A database that is down must not delay the shutdown. */
const STOP_TIMEOUT_MS = 1_500;

/**
 * Reports to the database that this process is alive, with its figures, now and every 10 s. While the database is down
 * it writes to the debug log only: the parts that need the database log the outage. Stopping removes the row.
 */
export function startProcessReport({
  db,
  identity,
  figures,
  refused,
  logger,
}: ProcessReportOptions): Repetition {
  const reporting = repeat({
    pauseMs: INTERVAL_MS,
    async work() {
      const current = await figures();
      if (refused === undefined) return reportProcess(db, identity, current);
      // Together: a commit costs more than what it contains.
      await db.transaction().execute(async (trx) => {
        await reportProcess(trx, identity, current);
        await noteReceiving(trx, identity.started_at);
      });
      await refused.flush((counted) => recordRefused(db, counted));
    },
    onError: (error) => logger.debug(`can't report this process to the database: ${describeError(error)}`),
  });

  async function leave(): Promise<void> {
    await reporting.stop();
    await removeProcess(db, identity.process_id).catch((error: unknown) => {
      logger.debug(`can't remove the row of this process, which expires in a day: ${describeError(error)}`);
    });
    await db.destroy();
  }

  return {
    async stop() {
      await pTimeout(leave(), { milliseconds: STOP_TIMEOUT_MS, message: false });
    },
  };
}
