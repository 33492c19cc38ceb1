import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { markMoved } from '../../embedded/cluster.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { UsageError } from '../../lib/errors.ts';
import { startDeliveryWorker } from '../../handlers/delivery-worker.ts';
import { BatchStore } from '../../handlers/store-batch.ts';
import { serverName } from '../../store/server/postgres.ts';
import { openBatchQueue } from '../../queue/batch-queue.ts';
import {
  logLostConnections,
  OLDEST_POSTGRES,
  openDatabase,
  withDirectConnection,
  readServerFacts,
  type Db,
} from '../../store/server/database.ts';
import { prepareStore, withStore, type CommandStore } from '../../serve/open-store.ts';
import {
  moveSequences,
  moveTables,
  readMonths,
  refuseUsed,
  type MovedTable,
  type MoveObserver,
} from '../../store/move/move-tables.ts';
import { maintainPartitions } from '../../store/partitions/partitions.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { note, print, printRows } from '../shared/output.ts';
import { recordCommand } from '../shared/record.ts';
import { createProgress, type Progress } from '../shared/progress.ts';

export interface Move {
  readonly from: Config;
  readonly to: Config;
  readonly databaseUrl: string;
  readonly json: boolean;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * `move-to`: stores what waits in the queue, then copies the embedded database to an empty one on a server, which has
 * either everything or nothing afterwards. The embedded database stays as it is, and does not start any more.
 */
export async function moveTo(move: Move): Promise<void> {
  const { from, databaseUrl, logger } = move;
  let embedded: EmbeddedPostgres | undefined;
  await withStore(from, logger, async (source) => {
    await using opened = new AsyncDisposableStack();
    embedded = await startEmbeddedPostgres(from.dataDir);
    const lock = await embedded.lock();
    if (lock === undefined) {
      throw new UsageError(
        `xiq-sink is running on ${from.dataDir}. Stop it first: the move needs exclusive access to the database.`,
      );
    }
    opened.defer(() => lock.release());
    await prepareTarget(move);
    await refuseUsed(databaseUrl);
    if (from.redisUrl === undefined) await drainQueue(source, move);
    const target = opened.adopt(openDatabase(databaseUrl, logLostConnections(logger)), (db) => db.destroy());
    const moved = await copyAll(source, target, move);
    await markMoved(from.dataDir, serverName(databaseUrl));
    const rows = moved.reduce((sum, table) => sum + table.rows, 0);
    const action = { action: 'database.move', subject: serverName(databaseUrl) } as const;
    await recordCommand(
      target,
      action,
      async () => rows,
      () => ({ rows }),
    );
    await report(moved, rows, move);
  });
  // A program that was killed may have left it running, and nobody uses it any more.
  await embedded?.stop();
}

async function prepareTarget({ to, databaseUrl, logger }: Move): Promise<void> {
  await using opened = new AsyncDisposableStack();
  // The service's own role may not exist yet.
  const url = to.bootstrapDatabaseUrl ?? databaseUrl;
  const db = opened.adopt(openDatabase(url, logLostConnections(logger)), (one) => one.destroy());
  const { majorVersion, version, isReadOnly } = await readServerFacts(db);
  const server = `${serverName(databaseUrl)} (Postgres ${version})`;
  if (majorVersion < OLDEST_POSTGRES) {
    throw new UsageError(`${server} is too old. Move to Postgres ${OLDEST_POSTGRES} or newer.`);
  }
  if (isReadOnly) throw new UsageError(`${server} is read-only. Use the primary server.`);
  await prepareStore(to, logger);
}

/** A queue that does not get shorter for so long has jobs that cannot be stored now. */
const NO_PROGRESS_MS = 30_000;

/** Stores the deliveries of the embedded queue. Those of the spool stay there, and go into the new queue. */
async function drainQueue({ databaseUrl, db }: CommandStore, { from, logger, signal }: Move): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const location = { kind: 'postgres', databaseUrl } as const;
  const queue = opened.adopt(openBatchQueue(location, logger), (one) => one.close());
  const giveUp = new AbortController();
  const count = async () => {
    const { waiting, active, delayed, failed } = await queue.measure();
    return waiting + active + delayed + failed;
  };
  let jobs = await count();
  if (jobs === 0) return;
  const worker = startDeliveryWorker(location, new BatchStore(db, logger, giveUp.signal, from), logger);
  opened.defer(async () => {
    giveUp.abort();
    await worker.close();
  });
  await worker.ready;
  using progress = createProgress('batches stored', jobs);
  const all = jobs;
  for (let since = performance.now(); jobs > 0;) {
    signal.throwIfAborted();
    if (performance.now() - since > NO_PROGRESS_MS) {
      throw new Error(`${countOf(jobs, 'batch', 'batches')} in the queue can't be stored: see the log above`);
    }
    await sleep(100);
    const left = await count();
    if (left < jobs) since = performance.now();
    jobs = left;
    progress.show(all - jobs);
  }
}

async function copyAll(source: CommandStore, target: Db, { to, databaseUrl, signal }: Move) {
  // Around each month, partitions are created; none is dropped.
  for (const month of await readMonths(source.db)) {
    await maintainPartitions(target, month, {});
  }
  await withDirectConnection(to.migrationDatabaseUrl, target, (owner) => moveSequences(source.db, owner));
  let progress: Progress | undefined;
  let done = 0;
  const observer: MoveObserver = {
    // A table that was never analyzed has no estimate.
    onTotal: (rows) => (progress = createProgress('rows copied', rows > 0 ? rows : undefined)),
    onRow: () => progress?.show((done += 1)),
  };
  try {
    return await moveTables(source.databaseUrl, to.migrationDatabaseUrl ?? databaseUrl, observer, signal);
  } finally {
    progress?.clear();
  }
}

async function report(moved: readonly MovedTable[], rows: number, { from, databaseUrl, json }: Move) {
  await printRows(
    moved,
    {
      table: ({ table }) => table,
      rows: (one) => formatCount(one.rows),
      digest: ({ digest }) => digest,
    },
    json,
  );
  if (!json) {
    print(`moved ${countOf(rows, 'row')} to ${serverName(databaseUrl)}; counts and digests are equal`);
  }
  note(
    'Login sessions are not copied: people must log in again. ' +
      `Set DATABASE_URL and keep DATA_DIR (${from.dataDir}): it has the spool and the generated secret.`,
  );
}
