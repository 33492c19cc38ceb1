import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { verifyNext } from '../../../src/seal/verify/verify-in-turn.ts';
import { HASH_BYTES, leafHash } from '../../../src/seal/merkle-tree.ts';
import { entryAt } from '../../../src/seal/stored-tree.ts';
import { readSalts } from '../../../src/store/seal/read-seals.ts';
import { readingSealed, readSealedEvents } from '../../../src/store/seal/sealed-rows.ts';
import { findEventsById } from '../../../src/store/seal/erase.ts';
import { NO_TRACES } from '../../../src/store/seal/person-traces.ts';
import { readConservation, sumArrivals } from '../../../src/store/counts/read-arrivals.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import {
  CHUNK_LEAVES,
  keepVerification,
  nextToVerify,
  readVerified,
} from '../../../src/store/seal/verifications.ts';
import { countAll } from '../../support/arrivals.ts';
import { endOfCommand } from '../../support/command.ts';
import { freely } from '../../support/tamper.ts';
import { STORED } from '../../store/events/varied-events.ts';
import { openSealedLog, type SealedLog } from '../../support/sealed-log.ts';
import { useDatabase } from '../../support/use-database.ts';
import { eraseOnRecord } from '../../support/actions.ts';

/** At once, everything again. */
const NOW = { intervalSeconds: 0, restSeconds: 0 };

const test = useDatabase({ isVaried: true, forEach: true });
let log: SealedLog;
beforeEach(async () => {
  log = await openSealedLog(test.service);
  await countAll(test.service);
  await log.seal();
});

async function conservation() {
  const [sums] = await test.query<Record<string, number | boolean>>`
    select bool_and(adds_up) as adds_up, sum(verified_events)::int as verified, sum(erased_events)::int as erased,
      sum(altered_events)::int as altered, sum(missing_events)::int as missing from conservation`;
  return sums;
}

it('keeps what it finds, and says when', async () => {
  const found = await verifyNext(test.service, NOW);
  expect(found).toMatchObject({ chunk: 0, altered: 0, missing: 0 });
  expect(await conservation()).toEqual({
    adds_up: true,
    verified: STORED,
    erased: 0,
    altered: 0,
    missing: 0,
  });
  const { leaves, since } = await readVerified(test.service);
  expect(leaves).toBe(found?.leaves);
  expect(since?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  expect(await verifyNext(test.service, { intervalSeconds: 60, restSeconds: 0 })).toBeUndefined();
  expect(await verifyNext(test.service, { intervalSeconds: 0, restSeconds: 60 })).toBeUndefined();
  const counts = {
    source: 's',
    messageType: 'OTHER',
    events: 31,
    expired: 1,
    erased: 2,
    altered: 4,
    missing: 8,
  };
  await keepVerification(test.service, { chunk: 1, leaves: 1, altered: 4, missing: 8, events: [counts] });
  expect(await test.query`select intact::int from log_verified_events where chunk = 1`).toEqual([
    { intact: 16 },
  ]);
});

it('verifies leaves that it has not, and then those again that it has verified longest ago', async () => {
  for (const [chunk, minutesAgo] of [5, 9, 7].entries()) {
    await test.query`insert into log_verifications (chunk, verified_at, leaves, altered, missing)
      values (${chunk}, now() - make_interval(mins => ${minutesAgo}), 1, 0, 0)`;
  }
  const next = (leaves: number, restSeconds = 0) =>
    nextToVerify(test.service, leaves, { intervalSeconds: 0, restSeconds });
  expect(await next(3 * CHUNK_LEAVES)).toBe(1);
  expect(await next(3 * CHUNK_LEAVES + 1)).toBe(3);
  expect(await next(3 * CHUNK_LEAVES, 8 * 60)).toBe(1);
  expect(await next(3 * CHUNK_LEAVES, 10 * 60)).toBeUndefined();
});

it('finds rows that a superuser has deleted and changed, and so do view, overview and doctor', async () => {
  await verifyNext(test.service, NOW);
  const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: log.directory };
  await freely(
    test.db,
    sql`delete from audit_events where event_id in (select event_id from audit_events order by event_id limit 41)`,
    sql`update log_entries set source = 'x' where event_id = (select event_id from log_entries order by event_id limit 1)`,
  );
  expect(await conservation()).toMatchObject({ adds_up: true });
  expect(await verifyNext(test.service, NOW)).toMatchObject({ altered: 1, missing: 41 });
  expect(await conservation()).toMatchObject({
    adds_up: false,
    verified: STORED - 42,
    altered: 1,
    missing: 41,
  });
  const sums = await sumArrivals(test.service, ALL_SOURCES);
  expect(sums.some(({ addsUp }) => !addsUp)).toBe(true);
  expect(sums.reduce((all, { missing }) => all + missing, 0)).toBe(41);
  expect((await readConservation(test.service, ALL_SOURCES)).unbalanced.join()).toContain('events missing');
  const doctor = (await endOfCommand(settings, 'doctor')).stdout;
  expect(doctor).toMatch(/^fail +seal +41 rows missing and 1 altered/m);
});

it('finds a row that was changed with its leaf', async () => {
  const rows = await test.query<{ position: number; version: number; leaf: number }>`
    select first_position::float8 as position, version, first_leaf::float8 as leaf from log_seals
    where first_position is not null order by first_leaf limit 1`;
  const { position, version, leaf } = rows[0] ?? { position: 0, version: 1, leaf: 0 };
  const range = { from: position, to: position + 1, version };
  const read = async () =>
    (await readingSealed(test.service, (trx) => readSealedEvents(trx, range)))[0] ?? {
      record: '',
      eventId: '',
    };
  const { eventId } = await read();
  const tables = ['audit_events', 'location_observations', 'log_entries', 'alerts_received', 'other_events'];
  const change = (table: string) =>
    sql`update ${sql.table(table)} set source = 'x' where event_id = ${eventId}::uuid`;
  await freely(test.db, ...tables.map(change));
  const forged = leafHash(entryAt(await readSalts(test.service, leaf, leaf + 1), 0, (await read()).record));
  await freely(
    test.db,
    sql`update log_hashes set hashes = overlay(hashes placing ${forged} from ${leaf * HASH_BYTES + 1}::int) where level = 0 and number = 0`,
  );
  expect(await verifyNext(test.service, NOW)).toMatchObject({ altered: 1, missing: 0 });
  expect(await readVerified(test.service)).toMatchObject({ altered: 1 });
  // Its tile is not that of the tree, so that none of its events counts as it was stored, whatever the view says.
  await test.query`alter view conservation rename to replaced`;
  await test.query`create view conservation as select source, message_type, true as adds_up from replaced`;
  const sums = await sumArrivals(test.service, ALL_SOURCES);
  expect(sums.reduce((all, { altered }) => all + altered, 0)).toBeGreaterThan(250);
  expect((await readConservation(test.service, ALL_SOURCES)).unbalanced.join()).toContain('events altered');
});

it('takes an erasure for what it is', async () => {
  const rows = await test.query<{ id: string }>`
    select event_id::text as id from audit_events order by event_id limit 3`;
  const events = await findEventsById(
    test.service,
    rows.map(({ id }) => id),
  );
  await eraseOnRecord(test.service, { operator: 'jane', reason: 'x' }, { events, ...NO_TRACES });
  await verifyNext(test.service, NOW);
  expect(await conservation()).toEqual({
    adds_up: true,
    verified: STORED - events.length,
    erased: events.length,
    altered: 0,
    missing: 0,
  });
});
