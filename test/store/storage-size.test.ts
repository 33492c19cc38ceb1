import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FAMILIES } from '../../src/domain.ts';
import type { Db } from '../../src/store/database.ts';
import { measureStorage } from '../../src/store/storage-size.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

async function store(occurredAt: Date, count: number) {
  await sql`
    insert into audit_events (event_id, delivery_id, source, message_type, occurred_at, received_at, origin, payload)
    select gen_random_uuid(), gen_random_uuid(), 'a', 'AUDIT_LOG_ALL', ${occurredAt}, ${occurredAt}, 'webhook', '{}'
    from generate_series(1, ${count}::int)`.execute(db);
}

const MONTH = new Date().toISOString().slice(0, 7);

test('rows of each month are estimated from what was last analyzed and how much there is now', async () => {
  await store(new Date(), 500);
  await sql`analyze audit_events`.execute(db);
  const { databaseBytes, partitions } = await measureStorage(db);
  const used = partitions.filter(({ isUsed }) => isUsed);
  expect(used).toMatchObject([{ family: 'audit', month: MONTH, rows: 500 }]);
  expect(used[0]?.bytes).toBeGreaterThan(8192);
  expect(databaseBytes).toBeGreaterThan(1_000_000);

  await store(new Date(), 1_500);
  const grown = (await measureStorage(db)).partitions.find(({ isUsed }) => isUsed);
  expect(grown?.rows).toBeGreaterThan(1_800);
  expect(grown?.rows).toBeLessThan(2_200);
});

test('every partition of the tables stands by family and month, the default one last', async () => {
  const { partitions } = await measureStorage(db);
  for (const family of FAMILIES) {
    const months = partitions.filter((one) => one.family === family).map(({ month }) => month ?? 'default');
    expect(months).toHaveLength(6);
    expect(months.toSorted((a, b) => a.localeCompare(b))).toEqual(months);
    expect(months.at(-1)).toBe('default');
  }
});

test('rows outside every month are counted', async () => {
  expect((await measureStorage(db)).defaultRows).toBe(0);
  await store(new Date('2001-01-01T00:00Z'), 3);
  expect((await measureStorage(db)).defaultRows).toBe(3);
});
