import type { Db } from '../database.ts';
import { becomeOwner, READER } from './roles.ts';
import { allRows } from '../statement.ts';
import type { Logger } from 'pino';
import { repeatInBackground } from '../../../lib/repeat.ts';

/** A session of `xiq_reader` that was ended. */
export interface EndedReader {
  readonly pid: number;
  /** The address that it came from. Null: the same machine, over a socket file. */
  readonly address: string | null;
  readonly application: string;
  /** How long its transaction had taken, in seconds. */
  readonly seconds: number;
}

/** How long a transaction of a reader may take, in seconds. Longer than `statement_timeout` of the role. */
const LIMIT_SECONDS = 360;

/**
 * Ends the sessions of `xiq_reader` in this database whose transaction takes longer than the limit: a session can turn off
 * the time-outs of its role. Resolves with the ended ones; none if this role has no right to end them.
 */
export async function limitReaders(db: Db, limitSeconds = LIMIT_SECONDS): Promise<readonly EndedReader[]> {
  return db.transaction().execute(async (trx) => {
    await becomeOwner(trx);
    // The state of a session is visible only with the rights of its role, which are also needed to end it.
    return allRows<EndedReader>(trx)`
      with slow as materialized (
        select pid, host(client_addr) as address, application_name as application,
            extract(epoch from clock_timestamp() - xact_start)::int as seconds
          from pg_stat_activity
          where usename = ${READER} and datname = current_database()
            and clock_timestamp() - xact_start > make_interval(secs => ${limitSeconds})
            and pg_has_role(usesysid, 'usage')
      )
      select * from slow where pg_terminate_backend(pid)`;
  });
}

const INTERVAL_MS = 30_000;

/** Ends sessions of the reading role that take too long, now and every half a minute. */
export function startReaderLimits(db: Db, logger: Logger, started: AsyncDisposableStack): void {
  const work = async () => {
    for (const ended of await limitReaders(db)) {
      logger.warn(ended, 'a session of xiq_reader was ended, because its transaction took too long');
    }
  };
  const failure = 'sessions of xiq_reader were not limited';
  repeatInBackground({ part: 'limits of readers', failure, pauseMs: INTERVAL_MS, work }, logger, started);
}
