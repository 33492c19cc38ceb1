import os from 'node:os';
import { chosenSender } from './apply-load.ts';
import type { Sender } from './apply-load.ts';
import { fluentBitVersion } from './targets/fluent-bit.ts';
import { startPostgres, connectDatabase } from './targets/postgres.ts';
import { redisVersion } from './targets/redis.ts';
import { openPlace } from './targets/target.ts';

/** The machine and the servers of a measurement. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** Gigabytes of 1,000,000,000 bytes. */
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  /** Undefined if there is no `redis-server` on PATH. */
  readonly redis: string | undefined;
  /** Undefined if there is no `fluent-bit` on PATH with the plugins http and pgsql. */
  readonly fluentBit: string | undefined;
  /** Sends the loads without a limited rate. */
  readonly sender: Sender;
}

/** Describes this machine and the servers that the targets use. */
export async function describeMachine(signal: AbortSignal): Promise<Machine> {
  await using place = await openPlace(signal);
  const ask = await connectDatabase((await startPostgres(place)).databaseUrl, place);
  const [cpu] = os.cpus();
  return {
    cpu: cpu?.model.trim() ?? os.arch(),
    cores: os.availableParallelism(),
    memoryGb: Math.round(os.totalmem() / 1e9),
    system: `${os.type()} ${os.release().split('-', 1).join('')}`,
    node: process.versions.node,
    postgres: await ask('show server_version'),
    redis: await redisVersion(),
    fluentBit: await fluentBitVersion(),
    sender: await chosenSender(),
  };
}
