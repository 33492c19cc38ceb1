import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { applyLoad } from './apply-load.ts';
import { drain } from './drain.ts';
import { startReceivers } from './receivers.ts';
import { connectDatabase } from './targets/postgres.ts';
import type { AskDatabase } from './targets/postgres.ts';
import { openPlace } from './targets/target.ts';
import { startWithSettings } from './targets/xiq-sink.ts';
import { WORKLOADS } from './workloads.ts';

/** How one destination was caught up with. */
export interface CatchUp {
  readonly destination: string;
  /** Events a second with nothing else to do, and while deliveries came in. */
  readonly aloneRate: number;
  readonly busyRate: number;
  /** Time to the answers of those deliveries, in milliseconds. */
  readonly p99: number;
}

/** What forwarding a backlog came to, beside ingest in the same run. */
export interface Forwarded {
  /** Events that were stored before, and every destination was sent. */
  readonly events: number;
  /** Events a second that the program itself stored, under full load. */
  readonly ingestRate: number;
  /** Deliveries a second that came in beside the catching up. */
  readonly liveRate: number;
  /** Time to their answers without any catching up, in milliseconds. */
  readonly quietP99: number;
  readonly destinations: readonly CatchUp[];
}

const FILL = 'audit-20';
const LIVE = 'audit-1';

/** Beside the catching up half as many deliveries come as the program took in the quiet. */
const LIVE_SHARE = 0.5;
const QUIET_SECONDS = 5;

/** Code is compiled, and the destinations have begun, by then. */
const WARM_UP_SECONDS = 2;

const POLL_MS = 50;

/** Fills the database under full load for so many seconds, then forwards all of it to each destination in turn. */
export async function measureForwarding(seconds: number, signal: AbortSignal): Promise<Forwarded> {
  await using place = await openPlace(signal);
  const destinations = await startReceivers(place);
  const file = path.join(place.directory, 'settings.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ destinations }));
  const running = await startWithSettings(place, { XIQ_SINK_CONFIG: file });
  const ask = await connectDatabase(running.databaseUrl, place);

  const { messageType, rows } = WORKLOADS[FILL];
  const countRows = () => running.countRows(messageType);
  const warm = await applyLoad({ ...running, workload: LIVE, seconds: WARM_UP_SECONDS }, signal);
  const before = await drain(countRows, warm.acknowledged, Infinity, signal);
  await pauseAll(ask);
  const fill = await applyLoad({ ...running, workload: FILL, seconds }, signal);
  const stored = await drain(countRows, before.rows + fill.acknowledged * rows, Infinity, signal);
  const ingestRate = perSecond(stored.rows - before.rows, stored.at - fill.startedAt);

  const full = await applyLoad({ ...running, workload: LIVE, seconds: QUIET_SECONDS }, signal);
  const liveRate = Math.round(LIVE_SHARE * perSecond(full.acknowledged, full.endedAt - full.startedAt));
  const load = (duration: number) =>
    applyLoad({ ...running, workload: LIVE, seconds: duration, rate: liveRate }, signal);
  await drain(countRows, stored.rows + full.acknowledged, Infinity, signal);
  const { p99: quietP99 } = await load(QUIET_SECONDS);

  const caughtUp: CatchUp[] = [];
  for (const { name } of destinations) {
    const aloneRate = await catchUp(ask, name, stored.rows, signal);
    const duration = Math.max(1, Math.ceil(stored.rows / aloneRate));
    const [busyRate, { p99 }] = await Promise.all([catchUp(ask, name, stored.rows, signal), load(duration)]);
    caughtUp.push({ destination: name, aloneRate, busyRate, p99 });
  }
  return { events: stored.rows, ingestRate, liveRate, quietP99, destinations: caughtUp };
}

async function pauseAll(ask: AskDatabase): Promise<void> {
  await ask(
    `with paused as (update destinations set state = 'paused' returning 1) select count(*) from paused`,
  );
}

/** Sends a destination so many events from the first on, and gives how many it got a second. */
async function catchUp(ask: AskDatabase, name: string, events: number, signal: AbortSignal): Promise<number> {
  const startedAt = Date.now();
  await ask(`update destinations set state = 'running', cursor_xid = '0', cursor_id = 0, sent_count = 0,
    generation = generation + 1 where name = '${name}' returning name`);
  let sent = 0;
  while (sent < events) {
    await sleep(POLL_MS, undefined, { signal });
    sent = Number(await ask(`select sent_count from destinations where name = '${name}'`));
  }
  const rate = perSecond(sent, Date.now() - startedAt);
  await pauseAll(ask);
  return rate;
}

const perSecond = (count: number, milliseconds: number) => (count * 1_000) / milliseconds;
