import type { Redis } from 'ioredis';
import { OutageError } from '../lib/errors.ts';
import type { QueueServer } from './redis-client.ts';

/**
 * A master that has lost its last replica is not trusted for this long: it may be one that a failover has replaced
 * without its knowledge, which will forget what it acknowledges. Sentinels demote such a server after about 10 s.
 */
const MISTRUST_MS = 30_000;

/** A replica confirms a write within a millisecond, unless it hangs. */
const CONFIRM_MS = 1_000;

export function createReplicaGuard(server: QueueServer) {
  /** Of a server's history, which a promotion changes: its id, and when it last had a replica. */
  let history: { readonly id: string; readonly seenAt: number } | undefined;

  const isMistrusted = () => history !== undefined && performance.now() - history.seenAt < MISTRUST_MS;

  async function look(node: Redis): Promise<void> {
    const info = await node.info('replication');
    const valueOf = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
    const { host, port } = node.options;
    if (valueOf('role') === 'slave') {
      server.renew();
      throw new OutageError(
        `the answering Redis${host === undefined ? '' : ` at ${host}:${port}`} is a replica of ${valueOf('master_host')}:${valueOf('master_port')} (READONLY)`,
      );
    }
    const id = valueOf('master_replid');
    if (/state=online/.test(info)) history = { id, seenAt: performance.now() };
    else if (history?.id !== id) history = { id, seenAt: -Infinity };
    else if (isMistrusted()) {
      server.renew();
      throw new OutageError('Redis has just lost its last replica: another master may have replaced it');
    }
  }

  async function node(): Promise<Redis> {
    const found = await server.find();
    if (found === undefined) throw new OutageError('no server of the Redis Cluster has the queue');
    return found;
  }

  return {
    /**
     * Runs a write. Throws an OutageError if no replica has confirmed it: the server may have been replaced meanwhile, and
     * forget it. A server that has had no replica for a while confirms alone.
     */
    async write<T>(work: () => Promise<T>): Promise<T> {
      const before = await node();
      if (history === undefined) await look(before);
      const { stream } = before;
      const result = await work();
      if (!isMistrusted()) return result;
      // WAIT counts only what came over its own connection.
      if ((await server.find()) !== before || before.stream !== stream) {
        throw new OutageError('Redis was disconnected before a replica confirmed a batch');
      }
      const confirmed = Number(await before.call('WAIT', 1, CONFIRM_MS));
      if (confirmed === 0 || before.stream !== stream) {
        throw new OutageError(`no replica of Redis confirmed a batch within ${CONFIRM_MS} ms`);
      }
      return result;
    },
    /** Throws an OutageError if the server is a replica, or has just lost its last one. */
    check: async () => look(await node()),
  };
}
