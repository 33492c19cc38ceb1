import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { UsageError } from '../../src/lib/errors.ts';
import { InstallationMemory } from '../../src/queue/installation.ts';
import { checkOwner } from '../../src/queue/redis-engine.ts';
import { claimQueue } from '../../src/queue/claim-queue.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseForTest, redisForTest } from '../support/for-one-test.ts';
import { openLoad } from '../support/redis-load.ts';
import { newDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** A process of an installation, which has its database or only remembers. */
async function processOf(url: string, database?: TestDatabase, prefix = 'bull') {
  const dataDir = await newDirectory();
  const installation = new InstallationMemory(dataDir, database !== undefined);
  const location = { kind: 'redis', url, prefix, installation } as const;
  const claim = async () => {
    if (database === undefined) return checkOwner(location);
    const { db, databaseUrl } = database;
    return claimQueue({ db, databaseUrl, queueLocation: location, logger: pino({ level: 'silent' }) });
  };
  return { installation, claim, open: () => openLoad(location), dataDir };
}

it('a second installation on the same Redis and prefix does not start, and both are named', async () => {
  const { url } = await redisForTest();
  const one = await processOf(url, await databaseForTest());
  await one.claim();
  await one.claim();
  const other = await processOf(url, await databaseForTest());
  const failure: unknown = await other.claim().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UsageError);
  for (const part of [
    one.installation.get()?.id,
    other.installation.get()?.id,
    'QUEUE_PREFIX',
    'redis-cli DEL bull:installation',
  ]) {
    expect(String(failure)).toContain(part);
  }
  const elsewhere = await processOf(url, await databaseForTest(), 'second');
  await elsewhere.claim();
});

it('an ingest process without a database belongs to the installation that it saw first', async () => {
  const redis = await redisForTest();
  const one = await processOf(redis.url, await databaseForTest());
  await one.claim();
  const ingest = await processOf(redis.url);
  const load = await ingest.open();
  await load.send();
  expect(load.figures()).toMatchObject({ queued: 1 });
  expect(await readFile(path.join(ingest.dataDir, 'installation.json'), 'utf8')).toContain(
    one.installation.get()?.id,
  );
  // Emptied, and marked by another installation first.
  await redis.command('FLUSHALL');
  const other = await processOf(redis.url, await databaseForTest());
  await other.claim();
  await waitFor(() => !load.queue.state().works);
  await load.send();
  expect(load.figures()).toMatchObject({ spooled: 1 });
  expect(new InstallationMemory(ingest.dataDir, false).get()?.id).toBe(one.installation.get()?.id);
});

it('a restored copy of the database has the same id, and is refused beside the original', async () => {
  const redis = await redisForTest();
  const database = await databaseForTest();
  const one = await processOf(redis.url, database);
  await one.claim();
  const copy = await databaseForTest();
  await sql`delete from installation`.execute(copy.db);
  await sql`insert into installation (id) values (${one.installation.get()?.id})`.execute(copy.db);
  const restored = await processOf(redis.url, copy);
  await expect(restored.claim()).rejects.toThrow(/system \d+\/\d+.*system \d+\/\d+/);
  // The same database, as after a failover to its physical replica, or with a new address.
  await (await processOf(redis.url, database)).claim();
  await redis.command('DEL', 'bull:installation');
  await restored.claim();
  // Processes without a database follow, since the id is the same.
  await (await processOf(redis.url)).claim();
});

it('a process that has a database does not believe the queue before the database has answered', async () => {
  const { url } = await redisForTest();
  const waiting = await processOf(url, await databaseForTest());
  const load = await waiting.open();
  await load.send();
  expect(load.figures()).toMatchObject({ spooled: 1 });
  await waiting.claim();
  await load.settle();
  await load.send();
  expect(load.figures()).toMatchObject({ queued: 1 });
});
