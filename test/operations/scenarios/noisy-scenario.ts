import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeNoise, type Noise } from '../../attacks/noise.ts';
import { createRedisPart } from '../../faults/redis-part.ts';
import { SECRET } from '../../support/program.ts';
import { openFleet } from '../fleet.ts';
import { SHORT, type Ground } from '../ground.ts';
import { longestStoreMs } from '../oracle.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { redisQueue } from '../waiting.ts';

/**
 * What is promised to a quiet source beside a noisy one. The answers have a limit of their own in
 * `test/attacks/noisy-source.test.ts`: here five programs, their servers and two senders share the processors.
 */
const MAX_STORE_MS = 2_000;

/** The short form runs with each change, where noise, service and servers share two cores with others. */
const SHORT_FACTOR = 10;

const NOISES: Readonly<Record<string, Noise>> = {
  stalled: { bodies: ['one record of 10 MiB'], connections: 12, stalls: true },
  large: { bodies: ['20,000 records'], connections: 4 },
  small: { bodies: ['one record'], connections: 32 },
};

/** A source that stalls large bodies, and sends large and small ones as fast as they are answered, beside a quiet one. */
export const NOISY: Scenario = { name: 'noisy source', refusesNone: true, isAlone: true, open: openNoisy };

async function openNoisy(ground: Ground): Promise<Stage> {
  const databaseUrl = await ground.createDatabase();
  const redis = await createRedisPart(path.join(ground.directory, 'redis'));
  await redis.start();
  ground.stack.defer(() => redis.stop());
  const config = path.join(ground.directory, 'sources.yaml');
  const sources = ['quiet', 'noisy'].map((name) => ({ name, webhook_secrets: [{ env: 'TEST_SECRET' }] }));
  await writeFile(config, JSON.stringify({ sources }));
  const settings = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    XIQ_SINK_CONFIG: config,
    TEST_SECRET: SECRET,
    WEBHOOK_SECRET: '',
  };
  const fleet = await openFleet({ directory: ground.directory, settings }, ground.stack);
  return {
    fleet,
    databaseUrl,
    readQueue: redisQueue(() => [redis.port]),
    source: 'quiet',
    async act() {
      const url = `${fleet.origin}/ingest/noisy/AUDIT_LOG_ALL`;
      const seconds = ground.pace.lasting / 1_000;
      const noises = Object.entries(NOISES).map(async ([name, noise]) => {
        const answers = Object.entries(await makeNoise(url, noise, seconds));
        return answers.map(([status, count]) => `${count} ${name} ${status}`);
      });
      return `noise: ${(await Promise.all(noises)).flat().join(', ')}`;
    },
    async check() {
      const limitMs = MAX_STORE_MS * (ground.pace === SHORT ? SHORT_FACTOR : 1);
      const storeMs = Math.round(await longestStoreMs(databaseUrl, 'quiet'));
      return storeMs > limitMs ? [`stored after up to ${storeMs} ms`] : [];
    },
  };
}
