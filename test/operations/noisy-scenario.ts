import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { auditRecord } from '../support/deliveries.ts';
import { createRedisPart } from '../faults/redis-part.ts';
import { SECRET } from '../support/program.ts';
import { openFleet } from './fleet.ts';
import { SHORT } from './ground.ts';
import type { Ground } from './ground.ts';
import { longestStoreMs } from './oracle.ts';
import type { Scenario, Stage } from './scenario.ts';
import { redisQueue } from './waiting.ts';

/** What is promised to a quiet source beside a noisy one, on a machine that does nothing else. */
const MAX_P99_MS = 100;
const MAX_STORE_MS = 2_000;

/** The short form runs with each change, where noise, service and servers share two cores with others. */
const SHORT_FACTOR = 10;

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
      const noise = startNoise(`${fleet.origin}/ingest/noisy/AUDIT_LOG_ALL`);
      try {
        await ground.wait(ground.pace.lasting);
      } finally {
        await noise.stop();
      }
      return noise.describe();
    },
    async check({ p99Ms }) {
      const factor = ground.pace === SHORT ? SHORT_FACTOR : 1;
      const storeMs = Math.round(await longestStoreMs(databaseUrl, 'quiet'));
      return [
        ...(p99Ms > factor * MAX_P99_MS ? [`p99 over ${factor * MAX_P99_MS} ms`] : []),
        ...(storeMs > factor * MAX_STORE_MS ? [`stored after up to ${storeMs} ms`] : []),
      ];
    },
  };
}

const STALLED = 12;
const LARGE_SENDERS = 4;
const LARGE_RECORDS = 20_000;
const SMALL_SENDERS = 32;

/** No number of the load is as large. */
let lastNumber = 1_000_000_000;

/** A refused sender tries again after this, and not when it is told to. */
const IMPATIENCE_MS = 20;

/** Makes noise until stopped; the answers are counted by kind of body and status. */
function startNoise(url: string): { stop(): Promise<void>; describe(): string } {
  const stopping = new AbortController();
  const answers: Record<string, number> = {};
  const agent = new http.Agent({ keepAlive: true });
  const stalled = Array.from({ length: STALLED }, () => stallBody(url));

  const keepSending = async (kind: string, records: number) => {
    while (!stopping.signal.aborted) {
      const status = await postBody(url, agent, createBody(records));
      answers[`${kind} ${status}`] = (answers[`${kind} ${status}`] ?? 0) + 1;
      if (status !== 200) await new Promise((resolve) => setTimeout(resolve, IMPATIENCE_MS));
    }
  };
  const senders = Promise.all([
    ...Array.from({ length: LARGE_SENDERS }, () => keepSending('large', LARGE_RECORDS)),
    ...Array.from({ length: SMALL_SENDERS }, () => keepSending('small', 1)),
  ]);
  return {
    async stop() {
      stopping.abort();
      for (const request of stalled) request.destroy();
      await senders;
      agent.destroy();
    },
    describe: () =>
      `noise: ${Object.entries(answers)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(', ')}`,
  };
}

function createBody(records: number): string {
  return JSON.stringify(Array.from({ length: records }, () => auditRecord({ userId: (lastNumber += 1) })));
}

/** Announces 9 MB, sends one, and waits. */
function stallBody(url: string): http.ClientRequest {
  const headers = { authorization: `Bearer ${SECRET}`, 'content-length': 9_000_000 };
  const request = http.request(url, { method: 'POST', headers });
  request.on('error', () => undefined);
  request.write(Buffer.alloc(1_000_000, ' '));
  return request;
}

/** The status of the answer; 0 without one. */
function postBody(url: string, agent: http.Agent, body: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  http
    .request(url, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${SECRET}`, 'content-length': Buffer.byteLength(body) },
    })
    .on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', () => resolve(0));
    })
    .on('error', () => resolve(0))
    .end(body);
  return promise;
}
