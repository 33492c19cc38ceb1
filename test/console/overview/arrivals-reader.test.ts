import { expect, test } from 'vitest';
import { createArrivalsReader } from '../../../src/console/overview/arrivals.ts';
import { openDatabase, type Db } from '../../../src/store/server/database.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

const DAY = 86_400;
const since = new Date('2026-03-02T00:00:00Z');
const until = new Date('2026-03-03T00:00:00Z');
const arrival = { receivedAt: new Date('2026-03-02T10:00:00Z'), messageType: 'AUDIT_LOG_ALL' } as const;

/** Reads the items of an answer. */
function readerOf(db: Db) {
  const read = createArrivalsReader(db);
  return async (...asked: Parameters<typeof read>) => (await read(...asked)).items;
}

test('an answer in wide buckets is kept for those who ask the same, one in narrow buckets soon asked anew', async () => {
  const read = readerOf(database.db);
  const asked = [60, DAY].map((bucketSeconds) => ({ since, until, bucketSeconds }));
  expect(await Promise.all(asked.map((range) => read(ALL_SOURCES, range)))).toEqual([[], []]);
  await deliverAndCount(database.db, arrival);
  await waitFor(async () => (await read(ALL_SOURCES, { since, until, bucketSeconds: 60 })).length === 1);
  expect(await read(ALL_SOURCES, { since, until, bucketSeconds: DAY })).toEqual([]);
  expect(await read(['default'], { since, until, bucketSeconds: DAY })).toHaveLength(1);
});

test('an answer is kept only for those who may see the same sources', async () => {
  const read = readerOf(database.db);
  const range = { since, until, bucketSeconds: DAY };
  expect(await read(ALL_SOURCES, range)).toHaveLength(1);
  expect(await read(['other'], range)).toEqual([]);
  expect(await read([], range)).toEqual([]);
  expect(await read(['other', 'default'], range)).toHaveLength(1);
});

test('a failure is not kept', async () => {
  const away = openDatabase('postgres://nobody@127.0.0.1:1/none', () => undefined);
  const read = createArrivalsReader(away);
  const failing = () => read(ALL_SOURCES, { since, until, bucketSeconds: DAY });
  await expect(failing()).rejects.toThrow('ECONNREFUSED');
  await away.destroy();
  await expect(failing()).rejects.not.toThrow('ECONNREFUSED');
});
