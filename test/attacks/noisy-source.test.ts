import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { TestDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest, redisForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';
import { postDelivery, SECRET, type Program } from '../support/program.ts';
import { hasRedisServer } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { flood, type Flood } from './attacked.ts';
import { ATTACK_SECONDS, IS_SHORT, MOST_MS, percentile } from './measure.ts';

/** The short form, which runs with each change, shares two cores with others: only a source that waits for another fails. */
const FACTOR = IS_SHORT ? 10 : 1;

const PERIOD_MS = 50;

/** A process that has just started is slow until its code is compiled. Answers count when it has had the noise for so long. */
const WARM_UP_MS = IS_SHORT ? 0 : 2_000;
const LOOK_MS = 100;

/** No delivery that is measured has this number. */
const FIRST_USER = 1_000_000;
const MIB = 1024 * 1024;

let database: TestDatabase;
let program: Program;

async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  database = await databaseForTest();
  const sources = ['noisy', 'quiet'].map((name) => ({ name, webhook_secrets: [SECRET] }));
  const XIQ_SINK_CONFIG = await settingsFile({ sources });
  program = await serveForTest({ DATABASE_URL: database.databaseUrl, XIQ_SINK_CONFIG, ...settings });
  // The first answer takes longer, whatever others send.
  await post(FIRST_USER);
}

/** Floods as the noisy source. Resolves with its answers by status. */
const makeNoise = (noise: Flood, seconds = ATTACK_SECONDS) =>
  flood(`${program.url}/ingest/noisy/LOCATION_AP_CENTRIC`, noise, seconds);

/** The times of quiet deliveries in milliseconds: from when each was due to its answer, and until its row is seen. */
interface Quiet {
  readonly answers: Readonly<Record<string, number>>;
  readonly latencies: readonly number[];
  readonly stored: readonly number[];
}

async function post(userId: number): Promise<Response> {
  const record = auditRecord({ userId });
  const response = await postDelivery(program, 'AUDIT_LOG_ALL', [record], { source: 'quiet' });
  await response.text();
  return response;
}

/** Delivers as the quiet source until the attack ends, and looks for the rows. */
async function deliverQuietly(attack: Promise<unknown>): Promise<Quiet> {
  const began = performance.now();
  const answers: Record<string, number> = {};
  const deliveries: Promise<void>[] = [];
  const latencies: number[] = [];
  const due = new Map<number, number>();
  const stored: number[] = [];
  const deliver = async () => {
    const userId = deliveries.length;
    const at = performance.now();
    due.set(userId, at);
    const response = await post(userId);
    if (at - began > WARM_UP_MS) latencies.push(performance.now() - at);
    answers[response.status] = (answers[response.status] ?? 0) + 1;
  };
  const look = async () => {
    const { rows } = await sql<{ userId: string }>`
      select user_id as "userId" from audit_events where source = 'quiet' and user_id <> ${FIRST_USER}`.execute(
      database.db,
    );
    const now = performance.now();
    for (const userId of rows.map((row) => Number(row.userId))) {
      stored[userId] ??= now - (due.get(userId) ?? 0);
    }
  };
  const sending = setInterval(() => void deliveries.push(deliver()), PERIOD_MS);
  let looking = look();
  const timer = setInterval(() => void (looking = looking.then(look)), LOOK_MS);
  await attack.finally(() => clearInterval(sending));
  await Promise.all(deliveries);
  await waitFor(() => Object.keys(stored).length === deliveries.length, 60_000).finally(() =>
    clearInterval(timer),
  );
  await looking;
  return { answers, latencies, stored };
}

function print(name: string, noisy: object, { answers, latencies, stored }: Quiet): void {
  const ms = (times: readonly number[], share: number) => percentile(times, share).toFixed(0);
  process.stdout.write(
    `${name}: noisy answered ${JSON.stringify(noisy)}; quiet answered ${JSON.stringify(answers)}, p50 ${ms(latencies, 0.5)} ms, p99 ${ms(latencies, 0.99)} ms, worst ${ms(latencies, 1)} ms; stored after p50 ${ms(stored, 0.5)} ms, worst ${ms(stored, 1)} ms\n`,
  );
}

const NOISE: Readonly<Record<string, Flood>> = {
  nothing: { bodies: ['one record'], connections: 1, requests: 1 },
  'bodies of 10 MB that stall': { bodies: ['one record of 10 MiB'], connections: 64, stalls: true },
  'a flood of small bodies': { bodies: ['one record'], connections: 64 },
  'a flood of bodies of 200 records': { bodies: ['200 records'], connections: 64 },
  '64 bodies of 49,000 records': {
    bodies: ['as many exact numbers as allowed, in records'],
    connections: 64,
    requests: 64,
  },
  'bodies for quarantine': {
    bodies: ['bytes that are not JSON', 'a little that is not JSON'],
    connections: 64,
  },
  'bodies beyond all limits': {
    bodies: [
      'brackets that never close, by brotli',
      'an array of nothing',
      'random text that hardly compresses',
    ],
    connections: 64,
  },
};

const QUEUES = [
  { queue: 'Postgres', available: true },
  { queue: 'Redis (with 10 s or more)', available: hasRedisServer() && !IS_SHORT },
] as const;

describe.each(QUEUES)('a quiet source beside a noisy one, queue in $queue', ({ queue, available }) => {
  it.skipIf(!available).each(Object.keys(NOISE))(
    'that sends %s',
    async (name) => {
      await start(queue === 'Postgres' ? {} : { REDIS_URL: (await redisForTest()).url });
      const noise = NOISE[name];
      if (noise === undefined) throw new Error(`no noise is called ${name}`);
      let noisy = {};
      const quiet = await deliverQuietly(makeNoise(noise).then((answers) => (noisy = answers)));
      print(`${queue}, ${name}`, noisy, quiet);
      expect(Object.keys(quiet.answers)).toEqual(['200']);
      expect(percentile(quiet.latencies, 0.99)).toBeLessThan(MOST_MS);
      expect(percentile(quiet.stored, 1)).toBeLessThan(FACTOR * 2_000);
    },
    300_000,
  );
});

it.skipIf(!hasRedisServer())(
  'a noisy source fills no more than its share of the spool',
  async () => {
    const redis = await redisForTest();
    await start({ REDIS_URL: redis.url, SPOOL_MAX_BYTES: String(64 * MIB) });
    await makeNoise({ bodies: ['one record'], connections: 1, requests: 1 }, 0);
    redis.signal('SIGSTOP');
    let noisy: Record<string, number> = {};
    const attack = async () => {
      // The first 2 s pass while the queue is given up.
      noisy = await makeNoise({ bodies: ['200 records'], connections: 32 }, Math.max(ATTACK_SECONDS, 10));
      redis.signal('SIGCONT');
    };
    const quiet = await deliverQuietly(attack());
    print('queue down', noisy, quiet);
    expect(noisy['503']).toBeGreaterThan(0);
    expect(Object.keys(quiet.answers)).toEqual(['200']);
    // Those of the first 2 s wait until the queue is given up.
    expect(percentile(quiet.latencies, 0.5)).toBeLessThan(FACTOR * 100);
    expect(quiet.stored.at(-1)).toBeLessThan(FACTOR * 10_000);
  },
  300_000,
);
