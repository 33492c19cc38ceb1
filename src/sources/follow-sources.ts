import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { z } from 'zod';
import { storedSource, type StoredSource } from './stored-sources.ts';
import { isMissingFile } from '../lib/files/durable-file.ts';
import { describeError } from '../lib/errors.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import { openLimited } from '../store/server/database.ts';
import { readSourcesRevision } from '../store/sources/sources.ts';
import { closeLogged } from '../lib/close-logged.ts';
import { readStoredSources } from './join-sources.ts';
import { repeatInBackground } from '../lib/repeat.ts';
import { receivesIn, type Role } from '../config/roles.ts';

/** How often to look for changes while something happens, and for old secrets that have ended. */
const INTERVAL_MS = 1_000;

/** How long start-up waits for the sources of a database that was never read. */
const FIRST_TIMEOUT_MS = 2_000;

interface FollowOptions {
  readonly dataDir: string;
  readonly useStored: (sources: readonly StoredSource[]) => void;
  /** Is called each second: old secrets may have ended. */
  readonly refresh: () => void;
  /** Undefined: this process knows only the sources of the settings. */
  readonly databaseUrl: string | undefined;
  readonly role: Role;
  readonly logger: Logger;
}

/**
 * Follows the sources in the database. While it is away, those that are known stay in force, also across a restart: they
 * are kept in the data directory as the database has them, without readable secrets.
 */
export async function followSources(
  { dataDir, useStored, refresh, databaseUrl, role, logger }: FollowOptions,
  opened: AsyncDisposableStack,
): Promise<void> {
  if (databaseUrl === undefined) {
    if (receivesIn(role)) {
      logger.info(
        'DATABASE_URL is not set: this process accepts deliveries only from the sources in the settings',
      );
    }
    useStored([]);
    return;
  }
  const file = path.join(dataDir, 'sources.json');
  const db = openLimited('reporting', databaseUrl, (error) =>
    logger.debug(`the connection for sources was lost: ${describeError(error)}`),
  );
  const kept = receivesIn(role) ? await readKept(file, logger) : undefined;
  if (kept !== undefined) useStored(kept);
  let revision: number | undefined;

  async function look(): Promise<'done' | 'idle'> {
    const latest = await readSourcesRevision(db);
    if (latest === revision) return 'idle';
    const sources = latest === 0 ? [] : await readStoredSources(db);
    useStored(sources);
    revision = latest;
    if (!receivesIn(role)) return 'done';
    await keep(sources, file).catch((error: unknown) =>
      logger.warn(`can't save the database's sources to ${file}: ${describeError(error)}`),
    );
    return 'done';
  }

  const { promise: firstEnd, resolve: endFirst } = Promise.withResolvers<void>();
  opened.defer(closeLogged(logger, 'database of sources', () => db.destroy()));
  const failure = "can't read sources; the known ones remain active";
  const work = () => look().finally(endFirst);
  repeatInBackground({ part: 'reading of sources', failure, pauseMs: INTERVAL_MS, work }, logger, opened);
  const ends = { part: 'ends of old secrets', failure: 'old secrets may remain valid' };
  repeatInBackground({ ...ends, pauseMs: INTERVAL_MS, work: async () => refresh() }, logger, opened);
  if (kept === undefined) await pTimeout(firstEnd, { milliseconds: FIRST_TIMEOUT_MS, message: false });
}

async function readKept(file: string, logger: Logger): Promise<readonly StoredSource[] | undefined> {
  try {
    return z.array(storedSource).parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (!isMissingFile(error))
      logger.warn(`can't read the sources saved in ${file}: ${describeError(error)}`);
    return undefined;
  }
}

async function keep(sources: readonly StoredSource[], file: string): Promise<void> {
  await makePrivateDirectory(path.dirname(file));
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, JSON.stringify(sources), { mode: 0o600 });
  await rename(temporary, file);
}
