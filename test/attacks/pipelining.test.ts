import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { ATTACK_SECONDS, measureDeliveries, printMeasured } from './measure.ts';

const FLOOD = path.join(import.meta.dirname, 'flood.ts');
const run = promisify(execFile);

let database: TestDatabase;
let directory: string;
let program: Program;

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await temporaryDirectory();
  program = await startProgram({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
  });
});
afterAll(async () => {
  await program.end('SIGTERM');
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

const portOf = (url: string) => Number(new URL(url).port);

const LISTENERS = [
  ['the ingest listener', () => portOf(program.url)],
  ['the admin listener', () => portOf(program.adminUrl)],
] as const;

/** The latency of the next good delivery, as measured before requests of one connection were limited. */
const ATTACKS = [
  [
    '20 connections with 1,700 requests in each write',
    { connections: 20, requests: 1_700, pauseMs: 50 },
    '1.3 s',
  ],
  [
    '300 connections with 1,700 requests in each write',
    { connections: 300, requests: 1_700, pauseMs: 1_000 },
    '14.8 s',
  ],
  ['1 MB/s of requests', { connections: 1, requests: 1_500, pauseMs: 50 }, 'p50 3.1 s'],
] as const;

describe.each(LISTENERS)('pipelined requests to %s', (listener, port) => {
  it.each(ATTACKS)('delay no good delivery: %s', async (name, attack, before) => {
    const flood = JSON.stringify({ ...attack, port: port(), seconds: ATTACK_SECONDS });
    const measured = await measureDeliveries(program, run(process.execPath, [FLOOD, flood]));
    printMeasured(`${name} to ${listener}`, measured, before);
    expect(measured.deliveries).toBeGreaterThan(5);
    expect(measured.p99).toBeLessThan(500);
    expect(measured.memory).toBeLessThan(500);
  });
});
