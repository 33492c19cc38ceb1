import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { BatchQueue } from '../../../src/queue/batch-queue.ts';
import { encodeBatch } from '../../../src/queue/delivery-batch.ts';
import { startDrain } from '../../../src/queue/spool/drain.ts';
import { openSpool } from '../../../src/queue/spool/spool.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { hasRedisServer, startRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

it.skipIf(!hasRedisServer())(
  'a full Redis does not count as working, although it answers, until it takes the backlog (needs redis-server)',
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-drain-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    let log = '';
    const logger = pino({}, { write: (line) => void (log += line) });
    const spool = openSpool({ directory, maxBytes: 1_000_000, minFreeBytes: 0 }, logger);
    onTestFinished(() => spool.close());
    const queue = new BatchQueue({ kind: 'redis', url: redis.url }, logger);
    onTestFinished(() => queue.close());
    await queue.check();
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    await spool.append(encodeBatch([queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }])]));
    const states: boolean[] = [];
    const onQueueState = (works: boolean) => void states.push(works);
    const drain = startDrain({ spool, queue, findStored: undefined, keepMs: 0, onQueueState, logger });
    onTestFinished(() => drain.stop());
    await waitFor(() => log.includes('the queue did not accept a batch'));
    expect(states).not.toContain(true);
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await waitFor(() => spool.bytes === 0);
    expect(states).toContain(true);
    expect(await queue.measure()).toMatchObject({ waiting: 1 });
  },
);
