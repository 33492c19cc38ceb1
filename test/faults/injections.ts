import { setClock } from './clock.ts';
import { holdAllConnections } from './connections.ts';
import type { Part } from './part.ts';
import type { Pauses } from './pauses.ts';
import { askRedis } from './redis-part.ts';
import type { SetUp } from './set-up.ts';

/** Does the harm, waits, and heals it. */
export type Inject = (setUp: SetUp, pauses: Pauses, wait: Wait) => Promise<void>;

/** Waits so many milliseconds, unless the suite is stopped. */
type Wait = (milliseconds: number) => Promise<void>;

/** What can be killed and frozen. */
export type HitPart = 'ingest' | 'worker' | 'redis' | 'postgres';

/** `kill -9`, and a start after a pause. */
export function killPart(target: HitPart): Inject {
  return (setUp, pauses, wait) => killed([partOf(setUp, target)], pauses.killed, wait);
}

/** SIGSTOP, and SIGCONT after a pause. */
export function freezePart(target: HitPart): Inject {
  return (setUp, pauses, wait) => frozen([partOf(setUp, target)], () => wait(pauses.frozen));
}

/** The queue is away for as long as it takes to fill a small disk. */
export async function keepRedisAway(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await killed([redisOf(setUp)], pauses.refusing, wait);
}

/** Queue and database are away at the same time. */
export async function keepServersAway(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await killed(serversOf(setUp), pauses.bothDown, wait);
}

/** The programs' clock goes an hour forward, and back. */
export async function jumpClock({ clockFile }: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await setClock(clockFile, 3_600);
  await wait(pauses.refusing);
  await setClock(clockFile, 0);
}

/** FLUSHALL with the workers held back, so that there is something to lose. */
export async function flushRedis(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await frozen(setUp.workers, async () => {
    await wait(pauses.killed);
    await askRedis(redisOf(setUp), 'FLUSHALL');
  });
}

/** Redis has no memory for any further write. */
export async function fillRedis(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  const redis = redisOf(setUp);
  // Less than an empty Redis takes: each write is refused.
  await askRedis(redis, 'CONFIG', 'SET', 'maxmemory', '100kb');
  await wait(pauses.refusing);
  await askRedis(redis, 'CONFIG', 'SET', 'maxmemory', '0');
}

/** Postgres has no connection left, and the programs lose theirs. */
export async function exhaustConnections({ postgres }: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await holdAllConnections(postgres.url(), () => wait(pauses.refusing));
}

/** The cable to a server is pulled. */
export function pullCable(to: 'redisProxy' | 'postgresProxy'): Inject {
  return async ({ [to]: proxy }, pauses, wait) => {
    proxy?.stall();
    await wait(pauses.frozen);
    proxy?.heal();
  };
}

/** Every connection to a server is reset, and every new one for a time. */
export async function resetNetwork(
  { redisProxy, postgresProxy }: SetUp,
  pauses: Pauses,
  wait: Wait,
): Promise<void> {
  redisProxy?.cut();
  postgresProxy?.cut();
  await wait(pauses.killed);
  redisProxy?.heal();
  postgresProxy?.heal();
}

/** The ingest process is started while queue and database are away. */
export async function startWhileDown(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  const servers = serversOf(setUp);
  await setUp.ingest.kill();
  await Promise.all(servers.map((server) => server.kill()));
  await setUp.ingest.start();
  await wait(pauses.bothDown);
  await Promise.all(servers.map((server) => server.start()));
}

async function killed(parts: readonly Part[], milliseconds: number, wait: Wait): Promise<void> {
  await Promise.all(parts.map((part) => part.kill()));
  await wait(milliseconds);
  await Promise.all(parts.map((part) => part.start()));
}

async function frozen(parts: readonly Part[], meanwhile: () => Promise<void>): Promise<void> {
  await Promise.all(parts.map((part) => part.freeze()));
  await meanwhile();
  await Promise.all(parts.map((part) => part.thaw()));
}

/** Of the workers, one: the other goes on. */
function partOf(setUp: SetUp, target: HitPart): Part {
  switch (target) {
    case 'ingest':
      return setUp.ingest;
    case 'worker':
      return setUp.workers[0] ?? setUp.ingest;
    case 'redis':
      return redisOf(setUp);
    case 'postgres':
      return setUp.postgres;
  }
}

function redisOf({ redis }: SetUp) {
  if (redis === undefined) throw new TypeError('the fault hits Redis, and this set-up has none');
  return redis;
}

const serversOf = ({ redis, postgres }: SetUp): readonly Part[] =>
  redis === undefined ? [postgres] : [redis, postgres];
