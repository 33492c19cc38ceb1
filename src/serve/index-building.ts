import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { isPooled } from '../postgres.ts';
import { buildIndexes } from '../store/build-indexes.ts';
import type { Db } from '../store/database.ts';
import { closing } from './closing.ts';
import { directly } from './open-store.ts';
import { repeat } from './repeat.ts';

/** Another process may die while it builds, and a table that is in use becomes free. */
const RETRY_INTERVAL_MS = 60_000;

const DONE_INTERVAL_MS = 24 * 60 * 60 * 1000;

const POOLED =
  'indexes are missing, and cannot be built through a pooler, so searches are slow: set DATABASE_DIRECT_URL';

/** Builds the missing indexes of large tables in the background, until they exist. */
export function startIndexBuilding(
  {
    config,
    databaseUrl,
    db,
    logger,
  }: { readonly config: Config; readonly databaseUrl: string; readonly db: Db; readonly logger: Logger },
  started: AsyncDisposableStack,
): void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isDone = false;
  const build = async () => {
    isDone = false;
    const onProgress = (progress: object) => logger.info(progress, 'building an index');
    const options = { signal, onProgress, isPooled: () => isPooled(config.databaseDirectUrl ?? databaseUrl) };
    const built = await directly(config, db, (direct) => buildIndexes(direct, options));
    isDone = built !== 'busy';
    if (built === 'pooled') logger.warn(POOLED);
    else if (built !== 'busy' && built.length > 0) logger.info({ built }, 'indexes built');
    return 'done' as const;
  };
  const building = repeat(
    () => (isDone ? DONE_INTERVAL_MS : RETRY_INTERVAL_MS),
    build,
    (error) => {
      if (!signal.aborted)
        logger.warn({ err: error }, `indexes were not built, will be retried: ${describeError(error)}`);
    },
  );
  const stop = () => {
    stopping.abort();
    return building.stop();
  };
  started.defer(closing(logger, 'building of indexes', stop));
}
