import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { startNode, type RedisNode } from './redis-nodes.ts';
import { startServerProcess, untilPrinted } from './server-process.ts';
import { waitFor } from './wait-for.ts';

/** The name of the master that the sentinels watch. */
const NAME = 'mymaster';

/** A Redis master with replicas, watched by three sentinels. */
export interface TestSentinels extends AsyncDisposable {
  /** `redis+sentinel://...`, the value of REDIS_URL. */
  readonly url: string;
  /** All servers. */
  readonly nodes: readonly RedisNode[];
  /** The server that the sentinels name as the master now. */
  master(): Promise<RedisNode>;
  /** A planned failover (`SENTINEL FAILOVER`). Resolves once another server is the master, and the old one is its replica. */
  failover(): Promise<void>;
  /** `kill -9` of the master. Resolves once another server is the master. */
  killMaster(): Promise<void>;
}

interface SentinelOptions {
  readonly replicas?: number;
  /** Further arguments of each redis-server, such as `['--min-replicas-to-write', '1']`. */
  readonly arguments?: readonly string[];
  /** The password of the Redis servers. */
  readonly password?: string;
  /** The password of the sentinels. */
  readonly sentinelPassword?: string;
}

/** Starts a master with replicas (one unless told) and three sentinels. It fails over about 2 s after the master is dead. */
export async function startSentinels(options: SentinelOptions = {}): Promise<TestSentinels> {
  const { replicas = 1, password, sentinelPassword } = options;
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-sentinel-'));
  const login = password === undefined ? {} : { password };
  const common = [...(options.arguments ?? []), '--repl-diskless-sync-delay', '0'].concat(
    password === undefined ? [] : ['--requirepass', password, '--masterauth', password],
  );
  const first = await startNode(directory, common, login);
  const others = await Promise.all(
    Array.from({ length: replicas }, () =>
      startNode(directory, [...common, '--replicaof', `127.0.0.1 ${first.port}`], login),
    ),
  );
  const nodes = [first, ...others];
  await Promise.all(others.map((node) => waitFor(() => isConnectedReplica(node))));
  const sentinels = await Promise.all(
    [1, 2, 3].map(() => startSentinel(directory, first.port, password, sentinelPassword)),
  );
  // A sentinel can only be elected once all know each other.
  await Promise.all(
    sentinels.map(({ client }) =>
      waitFor(async () => {
        const state = await describeMaster(client);
        return state['num-other-sentinels'] === '2' && state['num-slaves'] === String(replicas);
      }),
    ),
  );

  async function namedPort(): Promise<number> {
    const [sentinel] = sentinels;
    const answer = await sentinel?.client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
    return Array.isArray(answer) ? Number(answer[1]) : 0;
  }
  async function master(): Promise<RedisNode> {
    return waitFor(async () => {
      const port = await namedPort();
      return nodes.find((node) => node.port === port);
    });
  }
  const isMasterNow = async (node: RedisNode) => (await roleOf(node)) === 'master';
  async function anotherMaster(before: RedisNode): Promise<void> {
    await waitFor(async () => {
      const now = await master();
      return now !== before && (await isMasterNow(now));
    });
  }
  const credentials = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  const query =
    sentinelPassword === undefined ? '' : `?sentinelPassword=${encodeURIComponent(sentinelPassword)}`;
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis+sentinel://${credentials}${hosts}/${NAME}${query}`,
    nodes,
    master,
    async failover() {
      const before = await master();
      // Refused while the replica has not shown for some seconds that it is a good one.
      await waitFor(async () => {
        const answer = await sentinels[0]?.client
          .call('SENTINEL', 'FAILOVER', NAME)
          .catch((error: unknown) => String(error));
        return answer === 'OK';
      });
      await anotherMaster(before);
      await waitFor(async () => (await roleOf(before)) === 'slave');
    },
    async killMaster() {
      const before = await master();
      await before.kill();
      await anotherMaster(before);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...sentinels, ...nodes].map((one) => one.stop()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function roleOf({ client }: RedisNode): Promise<unknown> {
  const answer: unknown = await client.call('ROLE');
  return Array.isArray(answer) ? answer[0] : undefined;
}

async function isConnectedReplica({ client }: RedisNode): Promise<boolean> {
  const answer: unknown = await client.call('ROLE');
  return Array.isArray(answer) && answer[0] === 'slave' && answer[3] === 'connected';
}

async function describeMaster(client: Redis): Promise<Record<string, string>> {
  const answer: unknown = await client.call('SENTINEL', 'MASTER', NAME);
  const flat = Array.isArray(answer) ? answer.map(String) : [];
  return Object.fromEntries(
    flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])),
  );
}

/** A sentinel keeps its state in its configuration file. */
async function startSentinel(
  parent: string,
  masterPort: number,
  password: string | undefined,
  sentinelPassword: string | undefined,
) {
  const port = await freePort();
  const directory = path.join(parent, `sentinel-${port}`);
  await mkdir(directory);
  const file = path.join(directory, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 5000`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${NAME} ${password}`]),
    ...(sentinelPassword === undefined ? [] : [`requirepass ${sentinelPassword}`]),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const server = startServerProcess('redis-server', [file, '--sentinel']);
  await untilPrinted(server, 'monitor master');
  const client = new Redis({
    port,
    ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
    enableReadyCheck: false,
  });
  client.on('error', () => undefined);
  return {
    port,
    client,
    async stop() {
      client.disconnect();
      await server.end('SIGKILL');
    },
  };
}
