import { rm } from 'node:fs/promises';
import { SERVICE } from '../src/embedded/credentials.ts';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { withDatabase } from '../src/store/server/database.ts';
import { migrateStore } from '../src/store/server/schema/migrate.ts';
import { fullDirectory, newDirectory, prepareFull } from './beside-database.ts';
import { measure } from './measure.ts';
import type { Measurement } from './measure.ts';
import { countMonth, createMonths, monthBefore } from './seed-deliveries.ts';
import type { Seeded } from './seed-events.ts';
import { measureWaits } from './waits.ts';
import type { Wait } from './waits.ts';

/** The same in an empty database and in one with many events. */
export interface Sides<Result> {
  readonly empty: Result;
  readonly full: Result;
}

/** Whether the number of stored events costs anything. */
export interface Beside {
  /** The events of the full database, without the month that is dropped, and those of that month. */
  readonly events: number;
  readonly droppedEvents: number;
  /** One of each round. */
  readonly storing: Sides<readonly Measurement[]>;
  readonly waits: Sides<readonly Wait[]>;
}

const SIDES = ['empty', 'full'] as const;

const TARGET = 'redis';
const WORKLOAD = 'audit-1';

/** Fills a database, and measures storing and what people wait for beside its events and in an empty one. */
export async function measureBeside(
  events: number,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Beside> {
  const seeded = await prepareFull(events, signal);
  const storing = await storeInTurns(events, rounds, seconds, signal);
  // What was stored is background work again.
  await prepareFull(events, signal);
  const droppedEvents = await countDropped(events, seeded);
  const moments = { seeded, dropped: monthBefore(seeded) };
  await using empty = await createEmpty(seeded);
  const waits = {
    empty: await measureWaits(empty.dataDir, moments, signal),
    full: await measureWaits(fullDirectory(events), moments, signal),
  };
  return { events: seeded.events, droppedEvents, storing, waits };
}

/** Every second round begins with the other side, so that a machine that gets slower favours neither. */
async function storeInTurns(
  events: number,
  rounds: number,
  seconds: number,
  signal: AbortSignal,
): Promise<Beside['storing']> {
  const storing: Record<(typeof SIDES)[number], Measurement[]> = { empty: [], full: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
      console.error(`round ${round + 1} of ${rounds}: ${WORKLOAD}, ${side}`);
      await using empty = emptyDirectory();
      const dataDir = side === 'empty' ? empty.dataDir : fullDirectory(events);
      storing[side].push(await measure(TARGET, WORKLOAD, seconds, signal, { dataDir }));
    }
  }
  return storing;
}

/** A data directory that is removed at its end. */
function emptyDirectory() {
  const dataDir = newDirectory();
  const remove = async () => rm(dataDir, { recursive: true, force: true });
  return { dataDir, [Symbol.asyncDispose]: remove };
}

/** A database with the tables, and with the month that is dropped. */
async function createEmpty(seeded: Seeded) {
  const empty = emptyDirectory();
  const postgres = await startEmbeddedPostgres(empty.dataDir);
  try {
    await withDatabase(postgres.migrationUrl, async (db) => migrateStore(db, undefined, undefined, SERVICE));
    await createMonths(postgres.databaseUrl, monthBefore(seeded), seeded.until);
    return empty;
  } finally {
    await postgres.stop();
  }
}

async function countDropped(events: number, seeded: Seeded): Promise<number> {
  const postgres = await startEmbeddedPostgres(fullDirectory(events));
  try {
    return await countMonth(postgres.migrationUrl, seeded);
  } finally {
    await postgres.stop();
  }
}
