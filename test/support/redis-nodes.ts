import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { startRedisServer } from './redis.ts';

/** One of several Redis servers that belong together. */
export interface RedisNode {
  readonly port: number;
  /** A client of the test for this server alone. */
  readonly client: Redis;
  readonly isRunning: () => boolean;
  /** SIGSTOP makes it hang, SIGCONT lets it go on. */
  signal(signal: NodeJS.Signals): void;
  /** `kill -9`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Redis server in a directory below this one; `more` are its last arguments. */
export async function startNode(
  parent: string,
  more: readonly string[],
  options: { readonly username?: string; readonly password?: string } = {},
): Promise<RedisNode> {
  const port = await freePort();
  const directory = path.join(parent, String(port));
  await mkdir(directory);
  const server = await startRedisServer(directory, port, more);
  const client = new Redis({ port, ...options, retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  return {
    port,
    client,
    isRunning: () => !server.hasEnded(),
    signal: server.signal,
    kill: () => server.end('SIGKILL'),
    async stop() {
      client.disconnect();
      await server.end('SIGKILL');
    },
  };
}
