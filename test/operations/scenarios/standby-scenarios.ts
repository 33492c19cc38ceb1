import { verifySeal } from '../../faults/verify-seal.ts';
import { startDebianPostgres } from '../../support/debian-postgres.ts';
import { startProxy, through } from '../../support/proxy.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openFleet } from '../fleet.ts';
import { createService, type Ground, startRedisFor } from '../ground.ts';
import { readDeliveryIds } from '../oracle.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { redisQueue } from '../waiting.ts';

/** An asynchronous standby without the last commits is promoted by hand, after an outage without any server. */
export const LATE_STANDBYS: readonly Scenario[] = [
  {
    name: 'standby promoted late, normal',
    refusesNone: true,
    loses: true,
    open: (ground) => openStandby(ground, 'normal'),
  },
  {
    name: 'standby promoted late, strict',
    refusesNone: true,
    open: (ground) => openStandby(ground, 'strict'),
  },
];

/** What an ingest process says that keeps deliveries for this case. */
const TOLD = 'another database server took over';

/** How long all that is stored may take to be sealed. */
const SEAL_PATIENCE_MS = 30_000;

async function openStandby(ground: Ground, durability: 'normal' | 'strict'): Promise<Stage> {
  const { stack, directory, pace, wait } = ground;
  const primary = await startDebianPostgres();
  stack.defer(() => primary.stop());
  const link = await startProxy({ host: '127.0.0.1', port: primary.port });
  stack.defer(() => link.stop());
  const standby = await startDebianPostgres({ replicaOf: link.port });
  stack.defer(() => standby.stop());
  const active = { host: '127.0.0.1', port: primary.port };
  const address = await startProxy(active);
  stack.defer(() => address.stop());
  const directUrl = await createService(primary.url);
  const databaseUrl = through(address, directUrl);
  const redis = await startRedisFor(ground);
  const settings = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    DURABILITY: durability,
  };
  const fleet = await openFleet({ directory, settings, isWhole: true }, stack);
  let stored: readonly string[] = [];
  return {
    fleet,
    databaseUrl,
    readQueue: redisQueue(() => [redis.port]),
    async act() {
      link.silence();
      await wait(pace.lasting);
      // Workers hear of no further commit: what they stored and are told about is what is read now.
      const mend = address.cut();
      stored = await readDeliveryIds(directUrl);
      await primary.kill();
      await wait(pace.lasting);
      await standby.promote();
      active.port = standby.port;
      mend();
      const found = await waitFor(() => readDeliveryIds(databaseUrl).catch(() => undefined));
      return `at least ${stored.length - found.length} commits were gone after the promotion`;
    },
    async check({ lost }) {
      const found = new Set(await readDeliveryIds(databaseUrl));
      const gone = stored.filter((id) => !found.has(id)).length;
      const { unsealed, findings } = await verifySeal(
        databaseUrl,
        SEAL_PATIENCE_MS,
        new AbortController().signal,
      );
      const kept = durability === 'strict' ? fleet.members.filter(({ role }) => role === 'ingest') : [];
      const silent = kept.filter((member) => !member.output().includes(TOLD));
      return [
        ...(lost > gone ? [`${lost - gone} lost that the old primary had not stored`] : []),
        ...(unsealed > 0 ? [`${unsealed} not sealed`] : []),
        ...findings,
        ...silent.map(({ name }) => `${name} does not say that another server took over`),
      ];
    },
  };
}
