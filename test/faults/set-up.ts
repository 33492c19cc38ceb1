import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../support/free-port.ts';
import { SECRET, temporaryDirectory } from '../support/program.ts';
import { fakeClockSettings } from './clock.ts';
import { mountSmallDisk } from './disk.ts';
import type { Part } from './part.ts';
import { createPostgresPart, type PostgresPart } from './postgres-part.ts';
import { createProgramPart, type ProgramPart } from './program-part.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import { createRedisPart, type RedisPart } from './redis-part.ts';

export const SET_UP_NAMES = ['redis-queue', 'postgres-queue'] as const;

/** `redis-queue`: one ingest and two workers; `postgres-queue`: one process in the role `all`. */
export type SetUpName = (typeof SET_UP_NAMES)[number];

/** What a fault needs of a set-up, beyond what each has. */
export interface Needs {
  /** A proxy before each server. */
  readonly proxies?: boolean;
  /** A disk of so many bytes under the spool. */
  readonly spoolDiskBytes?: number;
  /** A clock that can be set for the programs alone: the library that fakes it. */
  readonly fakeClock?: string;
  /** Settings of the programs. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The service and its servers, each a process of its own, all started. Disposing of it leaves nothing. */
export interface SetUp extends AsyncDisposable {
  /** Where deliveries go, without path. */
  readonly origin: string;
  /** Takes deliveries; in the role `all` it stores them as well. */
  readonly ingest: ProgramPart;
  readonly workers: readonly ProgramPart[];
  readonly redis: RedisPart | undefined;
  readonly postgres: PostgresPart;
  readonly redisProxy: Proxy | undefined;
  readonly postgresProxy: Proxy | undefined;
  /** What the programs' clock is off by is written here. */
  readonly clockFile: string;
}

const WORKERS = 2;

/** Starts a set-up in a temporary directory. When it cannot, what was started is gone when this throws. */
export async function openSetUp(name: SetUpName, needs: Needs, signal: AbortSignal): Promise<SetUp> {
  signal.throwIfAborted();
  await using stack = new AsyncDisposableStack();
  const directory = await temporaryDirectory();
  stack.defer(() => rm(directory, { recursive: true, force: true }));

  const postgres = await createPostgresPart(path.join(directory, 'database'));
  const redis = name === 'redis-queue' ? await createRedisPart(path.join(directory, 'redis')) : undefined;
  await startAll([postgres, ...(redis === undefined ? [] : [redis])], stack);
  const before = async (port: number) => {
    if (needs.proxies !== true) return undefined;
    const proxy = await startProxy({ host: '127.0.0.1', port });
    stack.defer(() => proxy.stop());
    return proxy;
  };
  const postgresProxy = await before(postgres.port);
  const redisProxy = redis && (await before(redis.port));

  const ingestDirectory = path.join(directory, 'ingest');
  await mkdir(ingestDirectory);
  if (needs.spoolDiskBytes !== undefined) {
    const spool = path.join(ingestDirectory, 'spool');
    const unmount = await mountSmallDisk(spool, needs.spoolDiskBytes);
    stack.defer(unmount);
  }
  const clockFile = path.join(directory, 'clock');
  await writeFile(clockFile, '+0');

  const settings = {
    DATABASE_URL: postgres.url(postgresProxy?.port),
    ...(redis && { REDIS_URL: `redis://127.0.0.1:${redisProxy?.port ?? redis.port}` }),
    WEBHOOK_SECRET: SECRET,
    LOG_KEY_FILE: path.join(directory, 'log-key'),
    ...(needs.fakeClock === undefined ? {} : fakeClockSettings(needs.fakeClock, clockFile)),
    ...needs.settings,
  };
  const port = await freePort();
  const ingest = createProgramPart(
    { ...settings, DATA_DIR: ingestDirectory, PORT: String(port) },
    redis === undefined ? 'all' : 'ingest',
    signal,
  );
  const workers = Array.from({ length: redis === undefined ? 0 : WORKERS }, (_, index) =>
    createProgramPart({ ...settings, DATA_DIR: path.join(directory, `worker-${index}`) }, 'worker', signal),
  );
  await startAll([ingest, ...workers], stack);

  const owned = stack.move();
  return {
    origin: `http://127.0.0.1:${port}`,
    ingest,
    workers,
    redis,
    postgres,
    redisProxy,
    postgresProxy,
    clockFile,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startAll(parts: readonly Part[], stack: AsyncDisposableStack): Promise<void> {
  for (const part of parts) stack.defer(() => part.stop());
  // All of them, even if one fails: the others can be stopped only once they have started.
  const started = await Promise.allSettled(parts.map((part) => part.start()));
  for (const result of started) if (result.status === 'rejected') throw result.reason;
}
