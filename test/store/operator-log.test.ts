import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listActions, recordAction } from '../../src/store/operator-log.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const operator = { name: 'ada', via: 'console' } as const;

test('an action is written down before it is done, and how it ended', async () => {
  const { db } = database;
  const result = await recordAction(
    db,
    { operator, action: 'destination.pause', subject: 'siem', details: { reason: 'move' } },
    async () => {
      const [meanwhile] = await listActions(db, { limit: 1 });
      expect(meanwhile).toMatchObject({ action: 'destination.pause', outcome: null, ended_at: null });
      return 7;
    },
    (count) => ({ count }),
  );
  expect(result).toBe(7);
  const [entry] = await listActions(db, { limit: 1 });
  expect(entry).toMatchObject({
    operator: 'ada',
    via: 'console',
    subject: 'siem',
    details: { reason: 'move' },
    outcome: 'done',
    result: { count: 7 },
  });
});

test('an action that fails says why, and the error goes on', async () => {
  const { db } = database;
  const work = recordAction(db, { operator, action: 'quarantine.replay' }, async () => {
    throw new Error('no such thing');
  });
  await expect(work).rejects.toThrow('no such thing');
  const [entry] = await listActions(db, { limit: 1 });
  expect(entry).toMatchObject({ outcome: 'failed', result: { error: 'no such thing' } });
});

test('pages go back in time', async () => {
  const { db } = database;
  for (const subject of ['a', 'b', 'c']) {
    await recordAction(db, { operator, action: 'destination.resume', subject }, async () => undefined);
  }
  const first = await listActions(db, { limit: 2 });
  expect(first.map(({ subject }) => subject)).toEqual(['c', 'b']);
  const [next] = await listActions(db, { limit: 1, before: first.at(-1)?.id });
  expect(next?.subject).toBe('a');
});

test.each([
  ['an entry that has ended', sql`update operator_log set result = '{}' where outcome is not null`],
  ['who did it', sql`update operator_log set operator = 'eve', outcome = 'done', ended_at = now()`],
  ['an entry, by deleting it', sql`delete from operator_log`],
  ['all of it, by truncating', sql`truncate operator_log`],
])('nobody changes %s', async (_what, statement) => {
  await expect(statement.execute(database.db)).rejects.toThrow('what is stored stays as it was written');
});
