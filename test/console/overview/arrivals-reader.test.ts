import { expect, test } from 'vitest';
import { createArrivalsReader } from '../../../src/console/overview/arrivals.ts';
import { DAY_MS, HOUR_MS } from '../../../src/lib/clock.ts';
import { openDatabase, type Db } from '../../../src/store/server/database.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

const now = Date.now();
const until = new Date(now + HOUR_MS);
const hour = { since: new Date(now - HOUR_MS), until };
const year = { since: new Date(now - 365 * DAY_MS), until };

/** Reads the items of an answer. */
function readerOf(db: Db) {
  const read = createArrivalsReader(db);
  return async (...asked: Parameters<typeof read>) => (await read(...asked)).items;
}

test('an answer in wide buckets is kept for those who ask the same, one in narrow buckets soon asked anew', async () => {
  const read = readerOf(database.db);
  expect(await Promise.all([hour, year].map((range) => read(ALL_SOURCES, range)))).toEqual([[], []]);
  await deliverAndCount(database.db, { receivedAt: new Date(now), messageType: 'AUDIT_LOG_ALL' });
  await waitFor(async () => (await read(ALL_SOURCES, hour)).length === 1);
  expect(await read(ALL_SOURCES, year)).toEqual([]);
  expect(await read(['default'], year)).toHaveLength(1);
});

test('an answer is kept only for those who may see the same sources', async () => {
  const read = readerOf(database.db);
  expect(await read(['default'], year)).toHaveLength(1);
  expect(await read(['other'], year)).toEqual([]);
  expect(await read([], year)).toEqual([]);
  expect(await read(['other', 'default'], year)).toHaveLength(1);
});

test('a failure is not kept', async () => {
  const away = openDatabase('postgres://nobody@127.0.0.1:1/none', () => undefined);
  const read = createArrivalsReader(away);
  const failing = () => read(ALL_SOURCES, year);
  await expect(failing()).rejects.toThrow('ECONNREFUSED');
  await away.destroy();
  await expect(failing()).rejects.not.toThrow('ECONNREFUSED');
});
