import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { BatchStore } from '../../../src/handlers/store-batch.ts';
import { addDestination } from '../../../src/store/destinations/destinations.ts';
import { createTestDatabase } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { PROGRAM, SECRET, temporaryDirectory } from '../../support/program.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startS3 } from '../senders/s3-server.ts';

const KILLS = 20;
const EVENTS_PER_ROUND = 60;
const BATCH = 15;

const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

test('nothing is lost and the order is kept when server and forwarder are killed in turn (s3rver stands in for S3)', async () => {
  const server = await startS3();
  cleanUps.push(() => server[Symbol.asyncDispose]());
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const { db } = database;
  const directory = await temporaryDirectory();
  cleanUps.push(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'settings.yaml');
  const destination = { name: 'archive', type: 's3', ...server.options, timeout_seconds: 2 };
  await writeFile(
    file,
    JSON.stringify({ destinations: [{ ...destination, batch: { events: BATCH, seconds: 0 } }] }),
  );
  const settings = { DATABASE_URL: database.databaseUrl, DATA_DIR: directory, WEBHOOK_SECRET: SECRET };
  const start = () =>
    spawn(PROGRAM, ['serve', '--role', 'forward'], {
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        ADMIN_PORT: '0',
        HOST: '127.0.0.1',
        ...settings,
        XIQ_SINK_CONFIG: file,
      },
      stdio: 'ignore',
    });
  const position = async () => {
    const { rows } = await sql<{ position: number }>`
      select coalesce(cursor_position, 0)::float8 as position from destinations where name = 'archive'`.execute(
      db,
    );
    return rows[0]?.position ?? 0;
  };
  const store = new BatchStore(db, pino({ level: 'silent' }), new AbortController().signal);

  await addDestination(db, 'archive', 0);
  let stored = 0;
  let forwarder = start();
  cleanUps.push(async () => forwarder.kill('SIGKILL'));
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = await position();
    const records = Array.from({ length: EVENTS_PER_ROUND }, () => auditRecord({ userId: (stored += 1) }));
    await store.add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
    // In the middle of the round: at least one batch is stored, and others are not.
    await waitFor(async () => (await position()) > before, 60_000);
    if (kill % 2 === 0) {
      await server.kill();
      await server.restart();
    } else {
      const ended = once(forwarder, 'exit');
      forwarder.kill('SIGKILL');
      await ended;
      await sql`update destinations set lease_until = now()`.execute(db);
      forwarder = start();
    }
  }
  await untilSeen(db);
  const { rows } = await sql<{ next: number }>`select next_position::float8 as next from log_state`.execute(
    db,
  );
  await waitFor(async () => (await position()) >= (rows[0]?.next ?? Infinity), 120_000);

  const numbers: number[] = [];
  for (const manifest of await server.manifests()) {
    for (const { key } of manifest.objects) {
      for (const line of await server.lines(key)) {
        numbers.push(Number(/"user_id":"(\d+)"/.exec(line)?.[1]));
      }
    }
  }
  const all = Array.from({ length: stored }, (_, index) => index + 1);
  expect([...new Set(numbers)]).toEqual(all);
  // Each kill of the forwarder may store one batch twice.
  expect(numbers.length - stored).toBeLessThanOrEqual((KILLS / 2) * BATCH);
}, 600_000);
