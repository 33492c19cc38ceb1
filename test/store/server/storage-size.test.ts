import { expect, test } from 'vitest';
import { FAMILIES } from '../../../src/events/domain.ts';
import { measureStorage } from '../../../src/store/server/storage-size.ts';
import { insertAudits } from '../../support/stored-rows.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

const store = (occurredAt: Date, count: number) => insertAudits(database.db, { occurredAt, count });

const MONTH = new Date().toISOString().slice(0, 7);

test('rows of each month are estimated from what was last analyzed and how much there is now', async () => {
  await store(new Date(), 500);
  await database.query`analyze audit_events`;
  const { databaseBytes, partitions } = await measureStorage(database.db);
  const used = partitions.filter(({ isUsed }) => isUsed);
  expect(used).toMatchObject([{ family: 'audit', month: MONTH, rows: 500 }]);
  expect(used[0]?.bytes).toBeGreaterThan(8192);
  expect(databaseBytes).toBeGreaterThan(1_000_000);

  await store(new Date(), 1_500);
  const grown = (await measureStorage(database.db)).partitions.find(({ isUsed }) => isUsed);
  expect(grown?.rows).toBeGreaterThan(1_800);
  expect(grown?.rows).toBeLessThan(2_200);
});

test('every partition of the tables stands by family and month, the default one last', async () => {
  const { partitions } = await measureStorage(database.db);
  for (const family of FAMILIES) {
    const months = partitions.filter((one) => one.family === family).map(({ month }) => month ?? 'default');
    expect(months).toHaveLength(6);
    expect(months.toSorted((a, b) => a.localeCompare(b))).toEqual(months);
    expect(months.at(-1)).toBe('default');
  }
});

test('rows outside every month are counted', async () => {
  expect((await measureStorage(database.db)).defaultRows).toBe(0);
  await store(new Date('2001-01-01T00:00Z'), 3);
  expect((await measureStorage(database.db)).defaultRows).toBe(3);
});
