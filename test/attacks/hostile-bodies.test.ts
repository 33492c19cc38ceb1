import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { HOSTILE_BODIES } from './hostile-bodies.ts';
import { ATTACK_SECONDS, measureDeliveries, printMeasured } from './measure.ts';

const FLOOD = path.join(import.meta.dirname, 'flood-bodies.ts');
const run = promisify(execFile);
const CONNECTIONS = 64;
/** Of a body that becomes tens of thousands of rows: as many as are stored within the test. */
const STORED_REQUESTS = 4;

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

async function flood(name: string): Promise<Record<string, number>> {
  const url = `${program.url}/ingest/default/LOCATION_AP_CENTRIC`;
  const options = {
    url,
    secret: SECRET,
    name,
    seconds: ATTACK_SECONDS,
    connections: CONNECTIONS,
    requests: HOSTILE_BODIES[name]?.().isStored === true ? STORED_REQUESTS : null,
  };
  const { stdout } = await run(process.execPath, [FLOOD, JSON.stringify(options)]);
  return z.record(z.string(), z.number()).parse(JSON.parse(stdout));
}

describe('hostile bodies of a sender with the secret cost other deliveries little', () => {
  it.each(Object.keys(HOSTILE_BODIES))(
    '%s',
    async (name) => {
      let answers: Record<string, number> = {};
      const measured = await measureDeliveries(
        program,
        flood(name).then((all) => (answers = all)),
      );
      printMeasured(`${name}, answered ${JSON.stringify(answers)}`, measured, 'up to 5.1 s and 1.88 GB');
      expect(measured.p99).toBeLessThan(500);
      expect(measured.memory).toBeLessThan(500);
    },
    300_000,
  );

  it('and leave nothing unaccounted for', async () => {
    await waitFor(async () => {
      const metrics = await (await fetch(`${program.adminUrl}/metrics`)).text();
      return (
        /^xiq_sink_queue_jobs\{state="waiting"\} 0$/m.test(metrics) &&
        /^xiq_sink_queue_jobs\{state="active"\} 0$/m.test(metrics)
      );
    }, 200_000);
    const { rows } = await sql`select from conservation where not adds_up`.execute(database.db);
    expect(rows).toEqual([]);
  }, 300_000);
});
