import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Role } from '../../src/config/roles.ts';
import { openCluster, stopServer } from '../../src/embedded/cluster.ts';
import { bootstrapUrl, keepCredentials } from '../../src/embedded/credentials.ts';
import { startBalancer, type BalancerName } from '../support/balancer.ts';
import { SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { createMember, type Member } from './member.ts';
import { type Ground, startRedisFor } from './ground.ts';

/** The service as several processes, with a proxy before its two ingest processes. */
export interface Fleet {
  /** Where deliveries go, without path. */
  readonly origin: string;
  readonly members: readonly Member[];
  /** Where the forwarder writes events to. */
  readonly forwardedFile: string | undefined;
}

interface FleetOptions {
  readonly directory: string;
  /** For every process. */
  readonly settings: Readonly<Record<string, string>>;
  readonly balancer?: BalancerName;
  /** Whether a forwarder and a console run, too. */
  readonly isWhole?: boolean;
}

/** What a process does between SIGTERM and closing its port: longer than a proxy needs to see it. */
const DRAIN_SECONDS = '2';

/** Starts two ingest processes behind a proxy, two workers, and the other roles if asked for. */
export async function openFleet(
  { directory, settings, balancer = 'haproxy', isWhole = false }: FleetOptions,
  stack: AsyncDisposableStack,
): Promise<Fleet> {
  const others: readonly Role[] = isWhole ? ['forward', 'console'] : [];
  const forwardedFile = isWhole ? path.join(directory, 'forwarded', 'events.ndjson') : undefined;
  if (forwardedFile !== undefined) await mkdir(path.dirname(forwardedFile));
  const all = {
    WEBHOOK_SECRET: SECRET,
    DRAIN_SECONDS,
    ...(forwardedFile === undefined ? {} : { FORWARD_TO: `file://${forwardedFile}` }),
    ...settings,
  };
  const create = (role: Role, number = '') => {
    const name = `${role}${number}`;
    return createMember(name, role, path.join(directory, name), all);
  };
  const first = await create('ingest', '-1');
  const second = await create('ingest', '-2');
  const members = [first, second, await create('worker', '-1'), await create('worker', '-2')];
  for (const role of others) members.push(await create(role));
  for (const { dataDir } of members) await mkdir(dataDir);
  stack.defer(async () => void (await Promise.all(members.map((member) => member.kill()))));
  // One migrates; the others find its work.
  await members[2]?.start();
  const started = await Promise.allSettled(
    members.filter(({ name }) => name !== 'worker-1').map((member) => member.start()),
  );
  for (const result of started) if (result.status === 'rejected') throw result.reason;
  const ports = [first.port, second.port] as const;
  const origin = await startBalancer(balancer, path.join(directory, balancer), ports, stack);
  await untilReady([first, second]);
  return { origin, members, forwardedFile };
}

/** Starts the service as one process on the embedded database, as a person first tries it. */
export async function openAlone(
  { directory, settings }: Pick<FleetOptions, 'directory' | 'settings'>,
  stack: AsyncDisposableStack,
): Promise<Fleet & { readonly databaseUrl: string }> {
  const dataDir = path.join(directory, 'data');
  await mkdir(dataDir);
  const member = await createMember('all', 'all', dataDir, { WEBHOOK_SECRET: SECRET, ...settings });
  stack.defer(async () => {
    await member.kill();
    await stopServer(await openCluster(dataDir), 'immediate');
  });
  await member.start();
  const databaseUrl = bootstrapUrl(await keepCredentials(path.join(dataDir, 'postgres')));
  const origin = `http://127.0.0.1:${member.port}`;
  return { origin, members: [member], forwardedFile: undefined, databaseUrl };
}

/**
 * Restarts processes, with another program if told: one of each role at a time, the next once the last are ready again.
 */
export async function restartEach(members: readonly Member[], program?: string): Promise<void> {
  const byRole = [...Map.groupBy(members, ({ role }) => role).values()];
  const rounds = Math.max(...byRole.map(({ length }) => length));
  for (let round = 0; round < rounds; round += 1) {
    const restarted = byRole
      .flatMap((same) => same[round] ?? [])
      .map(async (member) => {
        await member.stop();
        await member.start(program);
        await untilReady([member]);
      });
    const results = await Promise.allSettled(restarted);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}

async function untilReady(members: readonly Member[]): Promise<void> {
  for (const { port } of members) {
    await waitFor(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      return answer?.ok;
    });
  }
}

/** A database, a Redis, and the service on them: behind HAProxy, with forwarder and console. */
export async function openWholeFleet(ground: Ground, balancer: BalancerName = 'haproxy') {
  const databaseUrl = await ground.createDatabase();
  const redis = await startRedisFor(ground);
  const settings = { DATABASE_URL: databaseUrl, REDIS_URL: `redis://127.0.0.1:${redis.port}` };
  const isWhole = balancer === 'haproxy';
  const fleet = await openFleet({ directory: ground.directory, settings, balancer, isWhole }, ground.stack);
  return { databaseUrl, redis, fleet };
}
