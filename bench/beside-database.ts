import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { withDatabase } from '../src/store/server/database.ts';
import { finishWork } from './finish-work.ts';
import { seedDeliveries, seedMonth } from './seed-deliveries.ts';
import { asOwner, seedEvents } from './seed-events.ts';
import type { Seeded } from './seed-events.ts';

/** Kept between runs, because filling it takes minutes. */
const DIRECTORY = fileURLToPath(new URL('data/', import.meta.url));

/** The data directory of the database that a search is measured in. */
export const fullDirectory = (events: number) => path.join(DIRECTORY, `search-${events}`);

/** A data directory that does not exist, on the same disk. */
export const newDirectory = () => path.join(DIRECTORY, `empty-${process.pid}`);

/**
 * Fills the database with events and deliveries, and with a month to drop, and does all background work. Work of an earlier
 * run is not done again.
 */
export async function prepareFull(events: number, signal: AbortSignal): Promise<Seeded> {
  const dataDir = fullDirectory(events);
  await mkdir(dataDir, { recursive: true });
  const postgres = await startEmbeddedPostgres(dataDir);
  // Seeding needs the owner of the tables.
  const { migrationUrl: databaseUrl } = postgres;
  try {
    const seeded = await seedEvents(databaseUrl, events, signal);
    await seedDeliveries(databaseUrl, seeded);
    await seedMonth(databaseUrl, seeded, signal);
    await settle(databaseUrl, dataDir, signal);
    return seeded;
  } finally {
    if (postgres.started) await postgres.stop();
  }
}

/** Half of the changes after which the server vacuums or analyzes a table by itself. */
const NEEDS_VACUUM = `
  select quote_ident(relname) as name from pg_stat_user_tables
  where n_ins_since_vacuum > 500 + n_live_tup / 10 or n_dead_tup > 25 + n_live_tup / 10
    or n_mod_since_analyze > 25 + n_live_tup / 20`;

/** Leaves no work for the service, nor for the server's own vacuum. */
async function settle(databaseUrl: string, dataDir: string, signal: AbortSignal): Promise<void> {
  await withDatabase(databaseUrl, async (db) => finishWork(db, dataDir, signal));
  await asOwner(databaseUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(NEEDS_VACUUM);
    console.error(`vacuum of ${rows.length} tables`);
    for (const { name } of rows) await client.query(`vacuum analyze ${name}`);
  });
}
