import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOpenQuarantine } from '../../src/store/search-quarantine.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { createTestDatabase, unguarded } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('what is resolved is not counted, and the oldest of the rest is known', async () => {
  const { db } = database;
  expect(await readOpenQuarantine(db, ALL_SOURCES)).toEqual({ count: 0, oldestReceivedAt: null });
  await sql`
    insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
    select gen_random_uuid(), gen_random_uuid(), timestamptz '2026-01-01' + day * interval '1 day', 'a', 'AUDIT_LOG_ALL',
      'not JSON', ''
    from generate_series(1, 5) as day`.execute(db);
  await unguarded(db, (trx) =>
    sql`update quarantine set resolution = 'discarded', resolved_at = now(), discarded_bytes = 0
      where received_at <= '2026-01-03'`.execute(trx),
  );
  expect(await readOpenQuarantine(db, ALL_SOURCES)).toEqual({
    count: 3,
    oldestReceivedAt: new Date('2026-01-04T00:00Z'),
  });
});
