import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { ATTACK_SECONDS, measureDeliveries, printMeasured } from './measure.ts';

const FLOOD = path.join(import.meta.dirname, 'flood-signatures.ts');
const run = promisify(execFile);

let database: TestDatabase;
let directory: string;
let program: Program;

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await temporaryDirectory();
  // During a rotation a source has several secrets, and the signature is computed with each.
  const secrets = [SECRET, ...['b', 'c', 'd'].map((letter) => letter.repeat(32))];
  program = await startProgram({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: secrets.join(','),
  });
});
afterAll(async () => {
  await program.end('SIGTERM');
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

it('large bodies with a wrong signature delay no good delivery', async () => {
  const flood = {
    url: `${program.url}/ingest/default/AUDIT_LOG_ALL`,
    seconds: ATTACK_SECONDS,
    connections: 8,
  };
  let answers = '';
  const attack = run(process.execPath, [FLOOD, JSON.stringify(flood)]).then(
    ({ stdout }) => (answers = stdout),
  );
  const measured = await measureDeliveries(program, attack);
  printMeasured(
    `8 connections with bodies of 10 MiB and a wrong signature, answered ${answers}`,
    measured,
    '186 ms of the event loop for each',
  );
  expect(measured.p99).toBeLessThan(500);
  expect(measured.memory).toBeLessThan(500);
});
