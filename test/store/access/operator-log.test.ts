import { sql } from 'kysely';
import { expect, test } from 'vitest';
import {
  describeIds,
  lastBackupAt,
  lastEnded,
  lastLogins,
  listActions,
  recordAction,
  recordEnded,
} from '../../../src/store/access/operator-log.ts';
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
    recordEnded(db, { operator, action: 'report.send', subject }, outcome, { n });
  await end('one', 'done', 1);
  await end('one', 'done', 2);
  await end('one', 'failed', 3);
  await end('two', 'done', 4);
  expect(await lastEnded(db, 'report.send', 'one')).toEqual({ n: 2 });
  expect(await lastEnded(db, 'destination.pause', 'one')).toBeUndefined();
});

test('entries are listed newest first, by what is asked', async () => {
  const { db } = database;
  const before = (await listActions(db, { limit: 1 }))[0]?.id ?? '0';
  const note = (name: string, action: 'console.login' | 'database.backup', outcome: 'done' | 'failed') =>
    recordEnded(db, { operator: { name, via: 'console' }, action }, outcome);
  await note('eve', 'console.login', 'done');
  await note('ada', 'console.login', 'done');
  await note('ada', 'console.login', 'failed');
  const failing = recordAction(db, { operator, action: 'console.login' }, async () => {
    throw new Error('no such file');
  });
  await expect(failing).rejects.toThrow('no such file');
  const listed = async (filter: object) =>
    (await listActions(db, { limit: 100, ...filter }))
      .filter(({ id }) => BigInt(id) > BigInt(before))
      .map((entry) => `${entry.operator} ${entry.outcome}`);
  expect(await listed({})).toEqual(['ada failed', 'ada failed', 'ada done', 'eve done']);
  expect(await listed({ limit: 1 })).toEqual(['ada failed']);
  expect(await listed({ operator: 'eve' })).toEqual(['eve done']);
  expect(await listed({ action: 'database.backup' })).toEqual([]);
  const [newest, second] = await listActions(db, { limit: 2 });
  expect(newest?.result).toEqual({ error: 'no such file' });
  expect(await listed({ before: second?.id })).toEqual(['ada done', 'eve done']);
  const [time, after] = [new Date('2031-01-01T00:00:00Z'), new Date('2031-01-01T00:00:00.001Z')];
  await database.query`insert into operator_log (operator, via, action, began_at)
    values ('tim', 'command', 'events.export', ${time})`;
  expect(await listed({ since: time })).toEqual(['tim null']);
  expect(await listed({ since: time, until: after })).toEqual(['tim null']);
  expect(await listed({ since: time, until: time })).toEqual([]);
  expect(await listed({ since: after })).toEqual([]);

  const logins = await lastLogins(db);
  expect([...logins.keys()].toSorted()).toEqual(['ada', 'eve']);
  expect(logins.get('ada')?.getTime()).toBeLessThanOrEqual(second?.began_at.getTime() ?? 0);
  const [first] = await database.query<{ at: Date }>`select min(began_at) as at from operator_log`;
  await note('ada', 'database.backup', 'failed');
  expect(await lastBackupAt(db)).toEqual(first?.at);
  await note('ada', 'database.backup', 'done');
  expect(await lastBackupAt(db)).toEqual((await listActions(db, { limit: 1 }))[0]?.ended_at);
});

test('many ids are recorded by the first hundred and their number', () => {
  const ids = Array.from({ length: 101 }, (_, id) => String(id));
  expect(describeIds(ids)).toEqual({ ids: ids.slice(0, 100), id_count: 101 });
});

test.each([
  ['an entry that has ended', sql`update operator_log set result = '{}' where outcome is not null`],
  ['who did it', sql`update operator_log set operator = 'eve', outcome = 'done', ended_at = now()`],
  ['an entry, by deleting it', sql`delete from operator_log`],
  ['all of it, by truncating', sql`truncate operator_log`],
])('nobody changes %s', async (_what, statement) => {
  await expect(statement.execute(database.db)).rejects.toThrow('what is stored stays as it was written');
});
