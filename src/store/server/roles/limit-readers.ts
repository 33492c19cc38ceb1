import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import type { Db } from '../database.ts';
import { withClient } from '../postgres.ts';
import { allRows } from '../statement.ts';
import { canKeepReaders, findReaderChanges, keepReader, type ReaderChange } from './readers.ts';
import { passwordOf, READER } from './roles.ts';
import { repeatInBackground } from '../../../lib/repeat.ts';

export interface EndedReader {
  readonly pid: number;
  readonly role: string;
  /** The address that it came from. Null: the same machine, over a socket file. */
  readonly address: string | null;
  readonly application: string;
  /** How long its transaction had taken, in seconds. */
  readonly seconds: number;
}

/** How long a transaction of a reader may take, in seconds. Longer than `statement_timeout` of the role. */
const LIMIT_SECONDS = 360;

/**
 * Ends the sessions of readers in this database whose transaction takes longer than the limit: a session can turn off the
 * time-outs of its role. Resolves with the ended ones; none if this role has no right to end them.
 */
export async function limitReaders(db: Db, limitSeconds = LIMIT_SECONDS): Promise<readonly EndedReader[]> {
  return allRows<EndedReader>(db)`select * from end_slow_readers(${limitSeconds})`;
}

/**
 * Repairs changed logins: a reader may change the password and the settings of its own login. Resolves
 * with what was changed. Does nothing in a database whose roles no administrator has created.
 */
export async function repairReaders(db: Db, readerUrl: string | undefined): Promise<readonly ReaderChange[]> {
  const changed = await findReaderChanges(db);
  for (const { login } of changed) await keepReader(db, login);
  if (readerUrl === undefined || !(await canKeepReaders(db)) || !(await isRejected(readerUrl)))
    return changed;
  await keepReader(db, READER, passwordOf(readerUrl));
  return [...changed, { login: READER, changes: ['its password differs from READER_DATABASE_URL'] }];
}

/** SQLSTATE invalid_password. */
const isRejected = (url: string) =>
  withClient(url, async () => false).catch(
    (error: unknown) => error instanceof DatabaseError && error.code === '28P01',
  );

const INTERVAL_MS = 30_000;

/**
 * Ends sessions of readers that take too long, and repairs their logins, now and every half a minute. `readerUrl` is the
 * connection string of `xiq_reader`; undefined: its password is not compared.
 */
export function startReaderLimits(
  db: Db,
  readerUrl: string | undefined,
  logger: Logger,
  started: AsyncDisposableStack,
): void {
  const work = async () => {
    for (const ended of await limitReaders(db)) {
      logger.warn(ended, `a session of ${ended.role} was ended because its transaction took too long`);
    }
    for (const changed of await repairReaders(db, readerUrl)) {
      logger.warn(changed, `the login ${changed.login} was changed and has been reset`);
    }
  };
  const failure = 'limits of readers were not enforced';
  repeatInBackground({ part: 'limits of readers', failure, pauseMs: INTERVAL_MS, work }, logger, started);
}
