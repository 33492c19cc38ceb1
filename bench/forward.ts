import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificate } from '../test/support/certificates.ts';
import { applyLoad } from './apply-load.ts';
import { drain } from './drain.ts';
import { connectDatabase } from './targets/postgres.ts';
import type { AskDatabase } from './targets/postgres.ts';
import { openPlace } from './targets/target.ts';
import type { Place } from './targets/target.ts';
import { startOnRedis } from './targets/xiq-sink.ts';
import { WORKLOADS } from './workloads.ts';

/** How fast one destination caught up. */
export interface CatchUp {
  readonly destination: string;
  /** Events per second without other work, and while deliveries came in. */
  readonly aloneRate: number;
  readonly busyRate: number;
  /** Latency of the answers to those deliveries, in milliseconds. */
  readonly p99: number;
}

/** The results of forwarding a backlog, with ingest in the same run. */
export interface Forwarded {
  /** Events that were stored first and then sent to every destination. */
  readonly events: number;
  /** Events per second that the program stored under full load. */
  readonly ingestRate: number;
  /** Deliveries per second that came in during the catch-up. */
  readonly liveRate: number;
  /** Latency of the answers to them without a catch-up, in milliseconds. */
  readonly quietP99: number;
  readonly destinations: readonly CatchUp[];
}

const FILL = 'audit-20';
const LIVE = 'audit-1';

/** During the catch-up, half as many deliveries come in as the program accepted without it. */
const LIVE_SHARE = 0.5;
const QUIET_SECONDS = 5;

/** After this time the code is compiled and the destinations have started. */
const WARM_UP_SECONDS = 2;

const POLL_MS = 50;

/** Fills the database under full load for a number of seconds, then forwards all events to each destination in turn. */
export async function measureForwarding(seconds: number, signal: AbortSignal): Promise<Forwarded> {
  await using place = await openPlace(signal);
  const destinations = await startReceivers(place);
  const file = path.join(place.directory, 'settings.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ destinations }));
  const running = await startOnRedis(place, { settings: { XIQ_SINK_CONFIG: file } });
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

/** Forwards the first `events` events to a destination and returns the events per second. */
async function catchUp(ask: AskDatabase, name: string, events: number, signal: AbortSignal): Promise<number> {
  const startedAt = Date.now();
  await ask(`update destinations set state = 'running', cursor_position = 0, sent_count = 0,
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

/** A destination as in the settings. */
interface DestinationSetting {
  readonly name: string;
  readonly [option: string]: unknown;
}

/** Starts receivers that discard what they read, for the lifetime of the place. Returns them as destinations. */
async function startReceivers(place: Place): Promise<readonly DestinationSetting[]> {
  const certificate = makeCertificate('IP:127.0.0.1');
  place.cleanup.use(certificate);
  const syslog = createServer({ allowHalfOpen: true }, (socket) => {
    socket.resume();
    socket.on('end', () => socket.end());
    socket.on('error', () => socket.destroy());
  });
  const https = createHttpsServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  return [
    {
      name: 'file',
      type: 'file',
      path: path.join(place.directory, 'events.jsonl'),
      max_bytes: 100_000_000,
      keep: 1,
    },
    {
      name: 'syslog-tcp',
      type: 'syslog',
      transport: 'tcp',
      host: '127.0.0.1',
      port: await listen(syslog, place),
    },
    {
      name: 'https',
      type: 'https',
      url: `https://127.0.0.1:${await listen(https, place)}/events`,
      allow_private: true,
      tls: { ca: certificate.cert },
    },
  ];
}

async function listen(server: Server, { cleanup }: Place): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.defer(() => void server.close());
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
