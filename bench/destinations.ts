import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../src/store/server/database.ts';
import { maintainPartitions } from '../src/store/partitions/partitions.ts';
import { applyLoad } from './apply-load.ts';
import { readProcessorTime } from './processor-time.ts';
import { connectDatabase, type AskDatabase } from './targets/postgres.ts';
import { openPlace } from './targets/target.ts';
import { startOnRedis } from './targets/xiq-sink.ts';

/*
 * What many destinations cost: the latency of the answers at 400 deliveries a second with 1 and with 100 destinations, in
 * turns, then transactions and processor time while nothing arrives, also with 60 months of partitions. Run it on a machine
 * that does nothing else: node bench/destinations.ts
 */

const ROUNDS = 3;
const RATE = 400;
const WARM_UP_SECONDS = 10;
const LOAD_SECONDS = 30;
const IDLE_SECONDS = 60;
/** After this time everything is counted, sealed and signed. */
const SETTLE_SECONDS = 75;
const MONTHS = 60;

const signal = AbortSignal.timeout(60 * 60_000);

/** Destinations with filters that differ, as those of a provider with many customers. */
const destinationsIn = (directory: string, count: number) =>
  Array.from({ length: count }, (_, number) => ({
    name: `file-${number}`,
    type: 'file',
    path: path.join(directory, `events-${number}.ndjson`),
    filter:
      number % 2 === 0 ? { codes: [10_000 + number] } : { message_types: ['AUDIT_LOG_ALL'], codes: [number] },
  }));

interface Figures {
  readonly destinations: number;
  readonly p50: number;
  readonly p99: number;
  readonly idle?: Idle;
}

interface Idle {
  readonly months: number;
  readonly transactionIdsPerSecond: number;
  /** Shares of one core. */
  readonly program: number;
  readonly postgres: number;
}

async function measure(count: number, months: number, measuresIdle: boolean): Promise<Figures> {
  await using place = await openPlace(signal);
  const config = path.join(place.directory, 'settings.yaml');
  await writeFile(config, JSON.stringify({ destinations: destinationsIn(place.directory, count) }));
  const running = await startOnRedis(place, { settings: { XIQ_SINK_CONFIG: config } });
  await createMonths(running.databaseUrl, months);
  const load = (seconds: number) =>
    applyLoad({ ...running, workload: 'audit-1', seconds, rate: RATE }, signal);
  await load(WARM_UP_SECONDS);
  const { p50, p99 } = await load(LOAD_SECONDS);
  const ask = await connectDatabase(running.databaseUrl, place);
  await untilSent(ask, count);
  if (!measuresIdle) return { destinations: count, p50, p99 };
  await sleep(SETTLE_SECONDS * 1_000);
  return { destinations: count, p50, p99, idle: await measureIdle(ask, running, months) };
}

async function createMonths(databaseUrl: string, months: number): Promise<void> {
  const db = openDatabase(databaseUrl, () => undefined);
  const now = new Date();
  // Each call creates several months.
  for (let ago = 0; ago < months; ago += 4) {
    await maintainPartitions(db, new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1)), {
      audit: undefined,
      location: undefined,
      log: undefined,
      alerts: undefined,
      other: undefined,
      deliveries: undefined,
    });
  }
  await db.destroy();
}

/** Waits until every destination has passed all events. */
async function untilSent(ask: AskDatabase, count: number): Promise<void> {
  const passed = 'select count(*) from destinations, log_state where cursor_position >= next_position';
  while (Number(await ask(passed)) < count) await sleep(200, undefined, { signal });
}

async function measureIdle(
  ask: AskDatabase,
  { pid, servers }: Awaited<ReturnType<typeof startOnRedis>>,
  months: number,
): Promise<Idle> {
  const nextId = async () => Number(await ask('select pg_snapshot_xmax(pg_current_snapshot())::text'));
  const [id, before] = [await nextId(), await readProcessorTime(pid)];
  await sleep(IDLE_SECONDS * 1_000);
  const [later, after] = [await nextId(), await readProcessorTime(pid)];
  const share = (of: number) => {
    const used = (time: typeof before) =>
      [...time.tasks.values()]
        .filter((task) => task.pid === of || task.parent === of)
        .reduce((sum, task) => sum + task.own + (task.pid === of ? task.ended : 0), 0);
    return (used(after) - used(before)) / (IDLE_SECONDS * 1_000_000);
  };
  return {
    months,
    transactionIdsPerSecond: (later - id) / IDLE_SECONDS,
    program: share(pid),
    postgres: share(servers['Postgres'] ?? 0),
  };
}

const results: Figures[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  for (const count of [1, 100]) {
    process.stderr.write(`round ${round + 1} of ${ROUNDS}: ${count} destinations\n`);
    results.push(await measure(count, 0, round === 0));
  }
}
process.stderr.write(`${MONTHS} months of partitions\n`);
results.push(await measure(100, MONTHS, true));

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const p99Of = (count: number) =>
  median(results.filter(({ destinations }) => destinations === count).map(({ p99 }) => p99));
for (const { destinations, p50, p99 } of results) {
  console.log(`${destinations} destinations, ${RATE}/s: p50 ${p50} ms, p99 ${p99} ms`);
}
console.log(`p99 with 100 destinations, times that with 1 (medians): ${(p99Of(100) / p99Of(1)).toFixed(2)}`);
for (const { destinations, idle } of results) {
  if (idle === undefined) continue;
  console.log(
    `idle, ${destinations} destinations, ${idle.months === 0 ? 'a new installation' : `${idle.months} months`}: ` +
      `${idle.transactionIdsPerSecond.toFixed(2)} transaction ids/s, program ${percent(idle.program)}, Postgres ${percent(idle.postgres)} of a core`,
  );
}
