import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkConservation } from '../src/commands/doctor/database.ts';
import { openDatabase } from '../src/store/server/database.ts';
import { FACETS } from '../src/store/events/facets.ts';
import { addMonths } from '../src/store/partitions/partitioned-tables.ts';
import { maintainPartitions } from '../src/store/partitions/partitions.ts';
import { freePort } from '../test/support/free-port.ts';
import { createLatencies } from './latencies.ts';
import { startOf } from './seed-events.ts';
import type { Seeded } from './seed-events.ts';
import { startPostgres } from './targets/postgres.ts';
import { startRedis } from './targets/redis.ts';
import { openPlace } from './targets/target.ts';
import type { Place } from './targets/target.ts';
import { startProgram, THIS_CHECKOUT } from './targets/xiq-sink.ts';

/** Something that people wait for. */
export interface Wait {
  readonly name: string;
  /** How often it was done. */
  readonly times: number;
  /** Milliseconds. Both are the same if it was done once. */
  readonly p50: number;
  readonly p95: number;
}

/** The settings that the program and its commands need. */
type Settings = Readonly<Record<string, string>>;

const STARTS = 5;
const PAGES = 50;
const DAYS = 10;
const CHECKS = 20;
const DOCTORS = 5;
const DAY_MS = 86_400_000;

/**
 * Measures what people wait for with the database of a data directory, and at last drops the months up to this one. The
 * days that people look at are those of the seeded events, also in a database without them.
 */
export async function measureWaits(
  dataDir: string,
  { seeded, dropped }: { readonly seeded: Seeded; readonly dropped: Date },
  signal: AbortSignal,
): Promise<readonly Wait[]> {
  await using place = await openPlace(signal, dataDir);
  const { databaseUrl, migrationUrl } = await startPostgres(place);
  const redis = await startRedis(place);
  const settings = {
    DATABASE_URL: databaseUrl,
    MIGRATION_DATABASE_URL: migrationUrl,
    REDIS_URL: redis.url,
    ADMIN_PORT: String(await freePort()),
  };
  return [
    await measureStarts(place, settings),
    ...(await measureProgram(place, settings, seeded)),
    await measureDrop(databaseUrl, dropped),
  ];
}

/** From the start of the process until it stores. */
async function measureStarts(place: Place, settings: Settings): Promise<Wait> {
  return times('start of serve', STARTS, async () => {
    await using run = nested(place);
    return await timed(async () => startProgram(run, { settings }));
  });
}

/** Has its own end, and everything else in common. */
function nested(place: Place): Place {
  const cleanup = new AsyncDisposableStack();
  return { ...place, cleanup, [Symbol.asyncDispose]: async () => cleanup.disposeAsync() };
}

async function measureProgram(place: Place, settings: Settings, seeded: Seeded): Promise<readonly Wait[]> {
  await using run = nested(place);
  const { secret } = await startProgram(run, { settings });
  const page = async (address: string) => measurePage(`http://127.0.0.1:${settings['ADMIN_PORT']}${address}`);
  const days = Array.from({ length: DAYS }, () => dayIn(seeded));
  return [
    await times('overview', PAGES, async () => page('/')),
    await times('overview of a day', PAGES, async () => page(`/?${dayIn(seeded)}`)),
    await times('facets of a day', DAYS * FACETS.length, async (time) =>
      page(
        `/api/v1/events/facets?facet=${FACETS[time % FACETS.length]}&${days[Math.floor(time / FACETS.length)]}`,
      ),
    ),
    await measureConservation(settings['DATABASE_URL'] ?? ''),
    await times('doctor', DOCTORS, async () =>
      runDoctor({ ...settings, DATA_DIR: place.dataDir, WEBHOOK_SECRET: secret }),
    ),
  ];
}

/** One of the seeded days, as the parameters of an address. */
function dayIn(seeded: Seeded): string {
  const from = startOf(seeded).getTime();
  const since = from + Math.random() * (seeded.until.getTime() - DAY_MS - from);
  const [start, end] = [since, since + DAY_MS].map((time) => new Date(time).toISOString());
  return `since=${start}&until=${end}`;
}

async function measurePage(url: string): Promise<number> {
  return timed(async () => {
    const response = await fetch(url, { headers: { Accept: url.includes('/api/') ? '*/*' : 'text/html' } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${url} answers ${response.status}: ${text}`);
  });
}

/** As doctor makes it. */
async function measureConservation(databaseUrl: string): Promise<Wait> {
  const db = openDatabase(databaseUrl, () => undefined);
  const opened = { db, databaseUrl };
  const access = { open: async () => opened, opened: () => opened, close: async () => undefined };
  try {
    return await times('check of the conservation', CHECKS, async () =>
      timed(async () => {
        const { status, message } = await checkConservation(access);
        if (status !== 'ok') throw new Error(message);
      }),
    );
  } finally {
    await db.destroy();
  }
}

async function runDoctor(settings: Settings): Promise<number> {
  const env = { PATH: process.env['PATH'], ...settings };
  return timed(async () =>
    promisify(execFile)(path.join(THIS_CHECKOUT, 'bin', 'xiq-sink'), ['doctor'], { env }),
  );
}

/** Retention as a worker applies it, set so that this month is the last one to go. */
async function measureDrop(databaseUrl: string, month: Date): Promise<Wait> {
  const db = openDatabase(databaseUrl, () => undefined);
  try {
    const now = new Date();
    const kept = monthsSince(addMonths(month, 1), now);
    const families = { audit: kept, location: kept, log: kept, alerts: kept, other: kept };
    return await times('drop of a month', 1, async () =>
      timed(async () => {
        const { blocked } = await maintainPartitions(db, now, { ...families, deliveries: kept });
        if (blocked.length > 0) throw new Error(`${blocked[0]?.partition} is in use`);
      }),
    );
  } finally {
    await db.destroy();
  }
}

const monthsSince = (month: Date, now: Date) =>
  (now.getUTCFullYear() - month.getUTCFullYear()) * 12 + now.getUTCMonth() - month.getUTCMonth();

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function times(
  name: string,
  count: number,
  measureOne: (time: number) => Promise<number>,
): Promise<Wait> {
  console.error(`${name} ...`);
  const latencies = createLatencies();
  for (let time = 0; time < count; time += 1) latencies.add(await measureOne(time));
  return { name, times: count, p50: latencies.percentile(50), p95: latencies.percentile(95) };
}
