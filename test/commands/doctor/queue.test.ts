import { DelayedError, type Job } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { checkQueue } from '../../../src/commands/doctor/queue.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { QUEUE_NAME } from '../../../src/queue/lanes.ts';
import { engineAt } from '../../../src/queue/batch-queue.ts';
import { BACKENDS, emptyRedis } from '../../support/backends.ts';
import { databaseForTest } from '../../support/for-one-test.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { waitFor } from '../../support/wait-for.ts';
import { accessTo } from './access-to.ts';

test.for(BACKENDS)(
  'a batch that waits for long is told of, $backend',
  async ({ available, usesRedis }, { skip }) => {
    if (!available) skip();
    const database = await databaseForTest();
    const env = usesRedis ? { REDIS_URL: await emptyRedis() } : {};
    const { databaseUrl } = database;
    const engine = engineAt(
      env.REDIS_URL === undefined ? { kind: 'postgres', databaseUrl } : { kind: 'redis', url: env.REDIS_URL },
    );
    const producer = engine.connectProducer(QUEUE_NAME, { skipMetasUpdate: true }, () => undefined);
    onTestFinished(async () => {
      await producer.bullmq.close();
      await producer.disconnect();
    });
    const add = (jobId: string, options: object) => {
      const deliveries = [queuedDelivery('AUDIT_LOG_ALL', [])];
      return producer.bullmq.add('batch', { version: 1, deliveries }, { jobId, ...options });
    };
    const check = () => checkQueue(accessTo(database), loadConfig(env));
    await producer.bullmq.waitUntilReady();
    expect(await check()).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('0 batches waiting, 0 in progress') as unknown,
    });
    // A process stores this one from memory.
    await add('taken', { delay: 15_000 });
    expect(await check()).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('0 batches waiting, 1 in progress') as unknown,
    });
    // And this one has been left by a process that ended.
    await add('left', { delay: 15_000, timestamp: Date.now() - 140_000 });
    expect(await check()).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/2 batches waiting \(oldest 2 min 2\d s\)/) as unknown,
    });
    await add('old', { timestamp: Date.now() - 150_000 });
    await add('new', {});
    expect(await check()).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/4 batches waiting \(oldest 2 min 3\d s\)/) as unknown,
    });
    const later = async (job: Job, token?: string) => {
      await job.moveToDelayed(Date.now() + 60_000, token);
      throw new DelayedError();
    };
    const worker = engine.connectWorker(QUEUE_NAME, later, {}, () => undefined);
    await waitFor(async () => (await check()).message.includes('4 waiting for a retry'));
    expect(await check()).toMatchObject({ status: 'warn' });
    await worker.bullmq.close();
    await worker.disconnect();
  },
);
