import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.ts';
import { startNode, type RedisNode } from './redis-nodes.ts';
import { waitFor } from './wait-for.ts';

const SLOTS = 16_384;
const MASTERS = 3;

/** A Redis Cluster. */
export interface TestRedisCluster extends AsyncDisposable {
  /** `redis+cluster://...`, the value of REDIS_URL: every node. */
  readonly url: string;
  readonly nodes: readonly RedisNode[];
  /** The slot of a key. */
  slotOf(key: string): Promise<number>;
  /** Moves a slot with its keys to another master while clients use it. */
  moveSlot(slot: number): Promise<void>;
  /** `kill -9` of the master of a slot. Resolves once its replica has taken over. Needs replicas. */
  killMaster(slot: number): Promise<void>;
}

/** Starts a Redis Cluster of three masters that have the slots in equal parts, each with a replica or without. */
export async function startRedisCluster(withReplicas = false): Promise<TestRedisCluster> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-cluster-'));
  const busPorts = new Map<RedisNode, number>();
  const startOne = async () => {
    const busPort = await freePort();
    const cluster = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'];
    const limits = ['--cluster-node-timeout', '1500', '--databases', '1', '--repl-diskless-sync-delay', '0'];
    const bus = ['--cluster-port', String(busPort), '--cluster-allow-replica-migration', 'no'];
    const node = await startNode(directory, [...cluster, ...limits, ...bus]);
    busPorts.set(node, busPort);
    return node;
  };
  const nodes = await Promise.all(Array.from({ length: withReplicas ? 2 * MASTERS : MASTERS }, startOne));
  const masters = nodes.slice(0, MASTERS);
  const idOf = async ({ client }: RedisNode) => client.cluster('MYID');
  await Promise.all(
    masters.map(({ client }, index) => {
      const from = Math.floor((SLOTS * index) / MASTERS);
      const to = Math.floor((SLOTS * (index + 1)) / MASTERS) - 1;
      return client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    }),
  );
  // Two nodes with the same epoch would argue about slots that move.
  await Promise.all(nodes.map(({ client }, index) => client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
  for (const { client } of nodes) {
    for (const other of nodes) {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', other.port, busPorts.get(other) ?? 0);
    }
  }
  const isOk = async ({ client }: RedisNode) => {
    const info = await client.cluster('INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`);
  };
  await Promise.all(nodes.map((node) => waitFor(() => isOk(node))));
  await Promise.all(
    nodes.slice(MASTERS).map(async (replica, index) => {
      const master = masters[index];
      if (master === undefined) return;
      const id = await idOf(master);
      // A node that does not know the master yet refuses.
      await waitFor(async () => (await replica.client.cluster('REPLICATE', id).catch(() => 'no')) === 'OK');
      await waitFor(async () => (await replica.client.info()).includes('master_link_status:up'));
    }),
  );

  const anyClient = () => {
    const node = nodes.find(({ isRunning }) => isRunning());
    if (node === undefined) throw new Error('no node of the cluster runs');
    return node.client;
  };
  async function findMaster(slot: number): Promise<RedisNode | undefined> {
    const ranges: unknown = await anyClient().call('CLUSTER', 'SLOTS');
    if (!Array.isArray(ranges)) return undefined;
    const range: unknown = ranges.find(
      (one: unknown) => Array.isArray(one) && Number(one[0]) <= slot && slot <= Number(one[1]),
    );
    const master: unknown = Array.isArray(range) ? range[2] : undefined;
    return Array.isArray(master) ? nodes.find(({ port }) => port === Number(master[1])) : undefined;
  }
  const masterOf = (slot: number) => waitFor(() => findMaster(slot));

  /** Until every node that runs knows the new master of the slot. */
  async function settle(slot: number, before: RedisNode): Promise<void> {
    await waitFor(async () => {
      const now = await findMaster(slot);
      return now !== undefined && now !== before && (await isOk(now));
    });
  }
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    slotOf: (key) => anyClient().cluster('KEYSLOT', key),
    async moveSlot(slot) {
      const from = await masterOf(slot);
      const others = await Promise.all([0, SLOTS >> 1, SLOTS - 1].map(masterOf));
      const to = others.find((node) => node !== from);
      if (to === undefined) throw new Error('there is no other master');
      const [fromId, toId] = await Promise.all([idOf(from), idOf(to)]);
      await to.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
      await from.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
      for (;;) {
        const keys: unknown = await from.client.call('CLUSTER', 'GETKEYSINSLOT', slot, 50);
        if (!Array.isArray(keys) || keys.length === 0) break;
        await from.client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys.map(String));
      }
      for (const node of new Set([to, from, ...others])) {
        await node.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
      }
    },
    async killMaster(slot) {
      const before = await masterOf(slot);
      await before.kill();
      await settle(slot, before);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node.stop()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
