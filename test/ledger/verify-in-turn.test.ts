import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createSealer } from '../../src/ledger/sealer.ts';
import { verifyNext } from '../../src/ledger/verify-in-turn.ts';
import { keepLogKey } from '../../src/serve/log-key.ts';
import { openDatabase, type Db } from '../../src/store/database.ts';
import { eraseRows, findEventsById, NO_TRACES } from '../../src/store/erase.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { readConservation, sumArrivals } from '../../src/store/read-arrivals.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { readVerified } from '../../src/store/verifications.ts';
import { countAll } from '../support/arrivals.ts';
import { createTestDatabase, emptyTables, type TestDatabase } from '../support/database.ts';
import { endOfProgram } from '../support/program.ts';
import { freely } from '../support/tamper.ts';
import { untilSeen } from '../support/until-seen.ts';
import { STORED, storeVariedEvents } from '../store/varied-events.ts';

/** At once, everything again. */
const NOW = { intervalSeconds: 0, restSeconds: 0 };

let test: TestDatabase;
let service: Db;
let directory: string;
beforeAll(async () => {
  test = await createTestDatabase();
  service = openDatabase(test.databaseUrl, () => undefined);
  directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-verify-'));
});
beforeEach(async () => {
  await emptyTables(test.db);
  await storeVariedEvents(test.db);
  await countAll(service);
  await sealAll();
});
afterAll(async () => {
  await service.destroy();
  await test.drop();
  await rm(directory, { recursive: true });
});

async function sealAll(): Promise<void> {
  await untilSeen(test.db);
  const key = await keepLogKey(path.join(directory, 'log-key'), (await readInstallation(service)).id);
  const sealer = createSealer(service, key);
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
}

const conservation = async () =>
  (
    await sql<Record<string, number | boolean>>`
      select bool_and(adds_up) as adds_up, sum(verified_events)::int as verified, sum(erased_events)::int as erased,
        sum(altered_events)::int as altered, sum(missing_events)::int as missing from conservation`.execute(
      service,
    )
  ).rows[0];

it('keeps what it finds, and says when', async () => {
  const found = await verifyNext(service, NOW);
  expect(found).toMatchObject({ chunk: 0, altered: 0, missing: 0 });
  expect(await conservation()).toEqual({
    adds_up: true,
    verified: STORED,
    erased: 0,
    altered: 0,
    missing: 0,
  });
  const { leaves, since } = await readVerified(service);
  expect(leaves).toBe(found?.leaves);
  expect(since?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  expect(await verifyNext(service, { intervalSeconds: 60, restSeconds: 0 })).toBeUndefined();
  expect(await verifyNext(service, { intervalSeconds: 0, restSeconds: 60 })).toBeUndefined();
});

it('finds rows that a superuser has deleted and changed, and so do view, overview and doctor', async () => {
  await verifyNext(service, NOW);
  const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: directory };
  await freely(test.db, async (trx) => {
    await sql`
      delete from audit_events where event_id in (select event_id from audit_events order by event_id limit 41)`.execute(
      trx,
    );
    await sql`
      update log_entries set source = 'x' where event_id in (select event_id from log_entries order by event_id limit 1)`.execute(
      trx,
    );
  });
  expect(await conservation()).toMatchObject({ adds_up: true });
  expect(await verifyNext(service, NOW)).toMatchObject({ altered: 1, missing: 41 });
  expect(await conservation()).toMatchObject({
    adds_up: false,
    verified: STORED - 42,
    altered: 1,
    missing: 41,
  });
  const sums = await sumArrivals(service, ALL_SOURCES);
  expect(sums.some(({ addsUp }) => !addsUp)).toBe(true);
  expect(sums.reduce((all, { missing }) => all + missing, 0)).toBe(41);
  expect((await readConservation(service, ALL_SOURCES)).unbalanced.join()).toContain('events missing');
  const doctor = (await endOfProgram(settings, 'doctor')).stdout.toString();
  expect(doctor).toMatch(/^fail +seal +41 rows missing and 1 altered/m);
});

it('takes an erasure for what it is', async () => {
  const { rows } = await sql<{ id: string }>`
    select event_id::text as id from audit_events order by event_id limit 3`.execute(service);
  const events = await findEventsById(
    service,
    rows.map(({ id }) => id),
  );
  await eraseRows(service, { operator: 'jane', reason: 'x' }, { events, ...NO_TRACES });
  await verifyNext(service, NOW);
  expect(await conservation()).toEqual({
    adds_up: true,
    verified: STORED - events.length,
    erased: events.length,
    altered: 0,
    missing: 0,
  });
});
