import { Client } from 'pg';
import { maintainPartitions } from '../src/store/partitions.ts';
import { openDatabase } from '../src/store/database.ts';
import { migrateStore } from '../src/store/migrate.ts';
import { SEEDED_TYPES } from './seeded-types.ts';

/** The events of a seeded database. */
export interface Seeded {
  readonly events: number;
  /** The events lie in the days before this time. */
  readonly until: Date;
}

export const SEEDED_DAYS = 365;

/** The events of so many stretches of each day are written type by type: about in the order of time, as they come. */
const STRETCHES_A_DAY = 24;

const CONNECTIONS = 2;
const DAY_MS = 86_400_000;

/**
 * Fills an empty database with so many events of all types over the last days, written by Postgres itself. One that
 * holds as many already is left as it is.
 */
export async function seedEvents(databaseUrl: string, events: number, signal: AbortSignal): Promise<Seeded> {
  await prepare(databaseUrl);
  const kept = await asOwner(databaseUrl, readMark);
  if (kept?.events === events) return kept;
  if (kept !== undefined)
    throw new Error(`it holds ${kept.events} events: remove its directory to seed others`);
  const seeded = { events, until: new Date() };
  const stretches = Array.from({ length: SEEDED_DAYS * STRETCHES_A_DAY }, (_, index) => index);
  const next = stretches.values();
  const write = (client: Client) => writeStretches(client, next, seeded, signal);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => asOwner(databaseUrl, write)));
  await asOwner(databaseUrl, async (client) => {
    await client.query('vacuum analyze audit_events, location_observations, log_entries');
    await client.query('create table bench_seed as select $1::float8 as events, $2::timestamptz as until', [
      events,
      seeded.until,
    ]);
    await client.query('checkpoint');
  });
  return seeded;
}

async function prepare(databaseUrl: string): Promise<void> {
  const db = openDatabase(databaseUrl, () => undefined);
  try {
    await migrateStore(db);
    const none = { audit: undefined, location: undefined, log: undefined };
    // It makes the months around the time it is told: also those that a service would have lived through.
    for (let days = SEEDED_DAYS; days >= 0; days -= 30) {
      await maintainPartitions(db, new Date(Date.now() - days * DAY_MS), none);
    }
  } finally {
    await db.destroy();
  }
}

async function readMark(client: Client): Promise<Seeded | undefined> {
  const { rows } = await client.query<{ exists: boolean }>(
    "select to_regclass('bench_seed') is not null as exists",
  );
  if (rows[0]?.exists !== true) return undefined;
  const marks = await client.query<Seeded>('select events, until from bench_seed');
  return marks.rows[0];
}

async function writeStretches(
  client: Client,
  stretches: Iterable<number>,
  { events, until }: Seeded,
  signal: AbortSignal,
): Promise<void> {
  await client.query('set synchronous_commit = off');
  const days = events / SEEDED_DAYS;
  for (const index of stretches) {
    signal.throwIfAborted();
    const day = Math.floor(index / STRETCHES_A_DAY);
    const from = until.getTime() - (SEEDED_DAYS - day) * DAY_MS;
    const [start, end] = [index, index + 1].map((at) => timeOfDay(at / STRETCHES_A_DAY - day));
    for (const { share, statement } of SEEDED_TYPES) {
      const rows = Math.round((days * share) / STRETCHES_A_DAY);
      await client.query(statement, [
        rows,
        new Date(from + (start ?? 0) * DAY_MS),
        new Date(from + (end ?? 0) * DAY_MS),
      ]);
    }
    if (index % STRETCHES_A_DAY === 0) console.error(`seeded ${day} of ${SEEDED_DAYS} days`);
  }
}

/** The share of a day that has passed when this share of its events is there: nine times as many at noon as at midnight. */
const timeOfDay = (share: number) => share + (0.8 * Math.sin(2 * Math.PI * share)) / (2 * Math.PI);

async function asOwner<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
