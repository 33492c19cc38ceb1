import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { readAuthorities } from '../lib/outgoing.ts';
import { parseRedisUrl } from '../lib/redis-address.ts';
import type { InstallationMemory } from './installation.ts';

export interface RedisLocation {
  /** A `REDIS_URL`. */
  readonly url: string;
  /** The file with the certificates of the authorities that the server's certificate may come from. */
  readonly caFile?: string | undefined;
}

export interface RedisQueues extends RedisLocation {
  /** The beginning of all keys: `QUEUE_PREFIX`. */
  readonly prefix?: string | undefined;
  /** Undefined: the queues are only inspected, whoever owns them. */
  readonly installation?: InstallationMemory | undefined;
}

export type RedisClient = Redis | Cluster;

/**
 * A connection without an answer from Redis for this long is closed, well after its batch went to the spool: the client
 * would otherwise keep the abandoned commands in memory.
 */
const HANGING_TIMEOUT_MS = 6_000;

/** Sentinels, and servers that a connection is opened to, are given up after so long. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * What a server answers that is no longer the master: to a write, and to a worker that was waiting for a job. A new
 * connection reaches the new master; the old one would stay open, and refuse every write.
 */
const DEMOTED = /READONLY|UNBLOCKED/;

const COMMON = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
  enableTLSForSentinelMode: true,
} satisfies RedisOptions;

/** A sender waits for the producer, so without a connection a command fails at once. */
const PRODUCER = {
  ...COMMON,
  maxRetriesPerRequest: 1,
  socketTimeout: HANGING_TIMEOUT_MS,
  reconnectOnError: ({ message }) => DEMOTED.test(message),
} satisfies RedisOptions;

/** A worker waits for Redis for as long as it takes, but not for an answer on a dead connection. */
const WORKER = {
  ...COMMON,
  maxRetriesPerRequest: null,
  // The longest time without an answer. BullMQ ends the blocking command after 10 s, so it always gets one.
  socketTimeout: 15_000,
  keepAlive: 10_000,
  reconnectOnError: ({ message }) => (DEMOTED.test(message) ? 2 : false),
} satisfies RedisOptions;

/** Creates a client that connects now or later, and again after each failure. Throws a UsageError if `caFile` cannot be read. */
export function connectRedis({ url, caFile }: RedisLocation, purpose: 'producer' | 'worker'): RedisClient {
  const { kind, nodes, tls: isTls, username, password, database, master, sentinel } = parseRedisUrl(url);
  const enableOfflineQueue = purpose === 'worker';
  const tls = isTls ? { tls: { ca: caFile && readAuthorities('REDIS_CA_FILE', caFile) } } : {};
  const common = { ...(purpose === 'producer' ? PRODUCER : WORKER), ...tls };
  if (kind === 'server') return new Redis(url, { ...common, enableOfflineQueue });
  const logIn = { username, password };
  if (kind === 'cluster') {
    return new Cluster([...nodes], {
      enableOfflineQueue,
      redisOptions: { ...common, ...logIn },
      // Certificates are for the names that the cluster announces.
      ...(isTls ? { dnsLookup: (address, found) => found(null, address) } : {}),
    });
  }
  return new Redis({
    ...common,
    ...logIn,
    enableOfflineQueue,
    sentinels: [...nodes],
    name: master,
    db: database,
    sentinelUsername: sentinel.username,
    sentinelPassword: sentinel.password,
    sentinelTLS: tls.tls,
  });
}

export const isCluster = (client: RedisClient): client is Cluster => client.isCluster;

/** ioredis gives up when it has to reconnect while it queries sentinels: connects again then. */
export async function revive(client: RedisClient): Promise<void> {
  if (client.status === 'end') await client.connect();
}

/** A Cluster reports a usable connection as `connect` before it is `ready`. */
export const isReady = (client: RedisClient) =>
  client.status === 'ready' || (isCluster(client) && client.status === 'connect');

export type QueueServer = ReturnType<typeof serverOf>;

/** The server that has the slot of a key. */
export function serverOf(client: RedisClient, key: string) {
  let slot: number | undefined;
  const renew = () => {
    if (isCluster(client)) client.refreshSlotsCache();
    else if (client.status === 'ready') client.disconnect(true);
  };
  return {
    /** Its client: the given one, unless it is a Cluster. Undefined: not connected. */
    async find(): Promise<Redis | undefined> {
      if (!isCluster(client)) return client;
      slot ??= Number(await client.call('CLUSTER', 'KEYSLOT', key));
      const [master] = client.slots[slot] ?? [];
      const found = client
        .nodes('master')
        .find(({ options }) => `${options.host}:${options.port}` === master);
      if (found === undefined) renew();
      return found;
    },
    /** Looks for the master again: sentinels name it to each connection, and a Cluster on request. */
    renew,
  };
}
