import { countDeliveries } from '../../faults/found.ts';
import { startPatroni, type PatroniCluster } from '../../support/patroni.ts';
import { startPgbouncer } from '../../support/pgbouncer.ts';
import { READER_ROLE, withRole } from '../../support/roles.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openFleet } from '../fleet.ts';
import { createService, type Ground, startRedisFor } from '../ground.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { postgresQueue, redisQueue } from '../waiting.ts';

type Queue = 'Redis' | 'Postgres';

/** What an operator of Postgres does, and what happens to it. */
export const POSTGRES_SCENARIOS: readonly Scenario[] = [
  {
    name: 'Patroni, synchronous, crash',
    refusesNone: true,
    open: (ground) => openPatroni(ground, 'Redis', (cluster) => cluster.crashPrimary()),
  },
  {
    name: 'Patroni, synchronous, crash, queue in Postgres',
    refusesNone: true,
    isLong: true,
    open: (ground) => openPatroni(ground, 'Postgres', (cluster) => cluster.crashPrimary()),
  },
  {
    name: 'Patroni, synchronous, machine lost',
    refusesNone: true,
    isLong: true,
    open: (ground) => openPatroni(ground, 'Redis', (cluster) => cluster.killPrimaryNode()),
  },
  {
    name: 'Patroni, synchronous, switchover',
    refusesNone: true,
    isLong: true,
    open: (ground) => openPatroni(ground, 'Redis', (cluster) => cluster.switchOver()),
  },
  {
    name: 'Patroni, replica lags, normal',
    refusesNone: true,
    loses: true,
    open: (ground) => openLagging(ground, 'normal'),
  },
  {
    name: 'Patroni, replica lags, strict',
    refusesNone: true,
    open: (ground) => openLagging(ground, 'strict'),
  },
  ...(['session', 'transaction'] as const).flatMap((mode) =>
    (['Redis', 'Postgres'] as const).map((queue) => ({
      name: `pgbouncer, ${mode} mode, queue in ${queue}`,
      isLong: mode === 'session',
      refusesNone: true,
      open: (ground: Ground) => openPgbouncer(ground, mode, queue),
    })),
  ),
];

async function openPatroni(
  ground: Ground,
  queue: Queue,
  failOver: (cluster: PatroniCluster) => Promise<void>,
): Promise<Stage> {
  const cluster = ground.stack.use(await startPatroni({ synchronous: true }));
  const databaseUrl = await createService(cluster.databaseUrl);
  const act = async () => {
    await failOver(cluster);
    return undefined;
  };
  return openOn(ground, queue, databaseUrl, databaseUrl, {}, act);
}

/** Enough for what the lag comes to: an operator who prefers losing it to standing still. */
const MAXIMUM_LAG_BYTES = 1024 ** 3;

async function openLagging(ground: Ground, durability: string): Promise<Stage> {
  const cluster = ground.stack.use(
    await startPatroni({ synchronous: false, maximumLagBytes: MAXIMUM_LAG_BYTES }),
  );
  const databaseUrl = await createService(cluster.databaseUrl);
  const act = async () => {
    cluster.stallReplication();
    await ground.wait(ground.pace.lasting);
    const before = await countDeliveries(databaseUrl);
    // With its Postgres alone gone, the node would recover it and be preferred: it has more than the replica.
    await cluster.killPrimaryNode();
    cluster.healReplication();
    // Workers store again at once, so this is the least that was missing.
    const after = await waitFor(async () => {
      const count = await countDeliveries(databaseUrl).catch(() => undefined);
      return count === undefined ? undefined : { count };
    });
    return `at least ${Math.max(0, before - after.count)} commits were gone after the failover`;
  };
  return openOn(ground, 'Redis', databaseUrl, databaseUrl, { DURABILITY: durability }, act);
}

async function openPgbouncer(ground: Ground, mode: 'session' | 'transaction', queue: Queue): Promise<Stage> {
  const databaseUrl = await ground.createDatabase();
  const pgbouncer = await startPgbouncer({
    mode,
    urls: [databaseUrl, withRole(databaseUrl, READER_ROLE)],
    settings: { default_pool_size: mode === 'session' ? '100' : '20' },
  });
  ground.stack.defer(() => pgbouncer.stop());
  const through = pgbouncer.through(databaseUrl);
  const act = async () => {
    await ground.wait(ground.pace.lasting / 2);
    // As a deployment of pgbouncer does: connections to the server are closed when they are free.
    await pgbouncer.command('reconnect');
    await ground.wait(ground.pace.lasting / 2);
    return undefined;
  };
  return openOn(ground, queue, through, databaseUrl, {}, act);
}

async function openOn(
  ground: Ground,
  queue: Queue,
  databaseUrl: string,
  directUrl: string,
  settings: Readonly<Record<string, string>>,
  act: Stage['act'],
): Promise<Stage> {
  const redis = queue === 'Redis' ? (await startRedisFor(ground)).port : undefined;
  const fleet = await openFleet(
    {
      directory: ground.directory,
      settings: {
        DATABASE_URL: databaseUrl,
        ...(redis && { REDIS_URL: `redis://127.0.0.1:${redis}` }),
        ...settings,
      },
    },
    ground.stack,
  );
  const readQueue = redis === undefined ? postgresQueue(directUrl) : redisQueue(() => [redis]);
  return { fleet, databaseUrl: directUrl, readQueue, act };
}
