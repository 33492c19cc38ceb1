import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { lastEnded, listActions, recordAction, recordEnded } from '../../../src/store/access/operator-log.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

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

test('the last result of an action is that of its subject, once it has ended well', async () => {
  const { db } = database;
  const end = (subject: string, outcome: 'done' | 'failed', n: number) =>
    recordEnded(db, { operator, action: 'report.send', subject }, { outcome, result: { n } });
  await end('one', 'done', 1);
  await end('one', 'done', 2);
  await end('one', 'failed', 3);
  await end('two', 'done', 4);
  expect(await lastEnded(db, 'report.send', 'one')).toEqual({ n: 2 });
  expect(await lastEnded(db, 'destination.pause', 'one')).toBeUndefined();
});

test.each([
  ['an entry that has ended', sql`update operator_log set result = '{}' where outcome is not null`],
  ['who did it', sql`update operator_log set operator = 'eve', outcome = 'done', ended_at = now()`],
  ['an entry, by deleting it', sql`delete from operator_log`],
  ['all of it, by truncating', sql`truncate operator_log`],
])('nobody changes %s', async (_what, statement) => {
  await expect(statement.execute(database.db)).rejects.toThrow('what is stored stays as it was written');
});
