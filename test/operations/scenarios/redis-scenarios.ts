import { startRedisCluster } from '../../support/redis-cluster.ts';
import { startSentinels, type TestSentinels } from '../../support/redis-sentinel.ts';
import { openFleet } from '../fleet.ts';
import type { Ground } from '../ground.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { redisQueue } from '../waiting.ts';

/** What an operator of Redis does, and what happens to it. */
export const REDIS_SCENARIOS: readonly Scenario[] = [
  {
    name: 'Sentinel failover, planned',
    isLong: true,
    refusesNone: true,
    open: (ground) => openSentinel(ground, (sentinels) => sentinels.failover()),
  },
  {
    name: 'Sentinel failover, master killed',
    refusesNone: true,
    open: (ground) => openSentinel(ground, (sentinels) => sentinels.killMaster()),
  },
  { name: 'Cluster, slots moved', refusesNone: true, open: openCluster },
];

/** A write that no replica has is not acknowledged: without this, a master that dies takes it along. */
const SAFE = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '10'];

async function openSentinel(
  ground: Ground,
  failOver: (sentinels: TestSentinels) => Promise<unknown>,
): Promise<Stage> {
  const sentinels = ground.stack.use(await startSentinels({ replicas: 2, arguments: SAFE }));
  return openOn(ground, sentinels.url, sentinels.nodes, () => failOver(sentinels));
}

async function openCluster(ground: Ground): Promise<Stage> {
  const cluster = ground.stack.use(await startRedisCluster());
  const moveAll = async () => {
    const slots = new Set<number>();
    for (const { client } of cluster.nodes) {
      for (const key of await client.keys('*')) slots.add(await cluster.slotOf(key));
    }
    for (const slot of slots) await cluster.moveSlot(slot);
    return `${slots.size} slots moved`;
  };
  return openOn(ground, cluster.url, cluster.nodes, moveAll);
}

async function openOn(
  ground: Ground,
  redisUrl: string,
  nodes: readonly { readonly port: number }[],
  act: () => Promise<unknown>,
): Promise<Stage> {
  const databaseUrl = await ground.createDatabase();
  const settings = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const fleet = await openFleet({ directory: ground.directory, settings }, ground.stack);
  return {
    fleet,
    databaseUrl,
    readQueue: redisQueue(() => nodes.map(({ port }) => port)),
    async act() {
      const remark = await act();
      return typeof remark === 'string' ? remark : undefined;
    },
  };
}
