import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBatchQueue } from '../../../src/queue/batch-queue.ts';
import { encodeBatch } from '../../../src/queue/delivery-batch.ts';
import { startDrain } from '../../../src/queue/spool/drain.ts';
import { openSpool } from '../../../src/queue/spool/spool.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { redisForTest } from '../../support/for-one-test.ts';
import { hasRedisServer } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { newDirectory } from '../../support/use-directory.ts';

/** A Redis of its own, and a spool that is drained into it from `begin` on. */
async function open() {
  const redis = await redisForTest();
  const directory = await newDirectory();
  let log = '';
  const logger = pino({}, { write: (line) => void (log += line) });
  const spool = openSpool({ directory, maxBytes: 1_000_000, minFreeBytes: 0 }, logger);
  onTestFinished(() => spool.close());
  const queue = openBatchQueue({ kind: 'redis', url: redis.url }, logger);
  onTestFinished(() => queue.close());
  await queue.check();
  const states: boolean[] = [];
  const begin = () => {
    const onQueueState = (works: boolean) => void states.push(works);
    const drain = startDrain({ spool, queue, findStored: undefined, keepMs: 0, onQueueState, logger });
    onTestFinished(() => drain.stop());
    return drain;
  };
  return { redis, spool, queue, states, log: () => log, begin };
}

const batch = () => encodeBatch([queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }])]);

describe.skipIf(!hasRedisServer())('a drain (needs redis-server)', () => {
  it('does not take a full Redis for a working one, although it answers, until it takes the backlog', async () => {
    const { redis, spool, queue, states, log, begin } = await open();
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    await spool.append(batch());
    begin();
    await waitFor(() => log().includes('the queue did not accept a batch'));
    expect(states).not.toContain(true);
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await waitFor(() => spool.bytes === 0);
    expect(states).toContain(true);
    expect(await queue.measure()).toMatchObject({ waiting: 1 });
  });

  it.each([
    // The levels of pino: an upgrade is no defect, and the newer process reads what it wrote.
    {
      of: 'a newer version',
      content: '{"version":4,"deliveries":[]}',
      level: 40,
      message: 'upgrade this process',
    },
    { of: 'no version', content: 'no batch at all', level: 50, message: 'is not valid JSON' },
  ])('leaves a segment of $of where it is', async ({ content, level, message }) => {
    const { spool, queue, log, begin } = await open();
    await spool.append(batch());
    await spool.append(Buffer.from(content));
    const drain = begin();
    await waitFor(() => log().includes('so it stays'));
    await drain.stop();
    expect(log()).toContain(`"level":${level}`);
    expect(log()).toContain(message);
    expect(await spool.segments()).toHaveLength(1);
    expect(await queue.measure()).toMatchObject({ waiting: 0 });
  });
});
