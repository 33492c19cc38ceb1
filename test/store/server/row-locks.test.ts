import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { type ComparedQuarter, updateCoverage } from '../../../src/store/reconcile/coverage.ts';
import { compactArrivals, rollUpArrivals } from '../../../src/store/counts/roll-up-arrivals.ts';
import { pruneSeen, rollUpSeen, uncountSeen } from '../../../src/store/counts/roll-up-seen.ts';
import { assignPositions } from '../../../src/store/log/extend-log.ts';
import { lockQuarantined } from '../../../src/store/quarantine/quarantine.ts';
import { noteReceiving } from '../../../src/store/reconcile/gaps.ts';
import type { HistoryRange } from '../../../src/store/reconcile/history.ts';
import { whileSealing } from '../../../src/store/seal/seal-log.ts';
import { createLock, lockRow } from '../../../src/store/server/locks.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { changeAllSources, changeSource, insertSource } from '../../../src/store/sources/sources.ts';
import { whileHeld } from '../../support/row-lock.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();

const ID = '6a5a4c7e-0000-4000-8000-000000000001';

it.each<[string, string, () => Promise<unknown>]>([
  ['compacting arrivals', 'arrivals_progress', () => compactArrivals(test.service, new Date())],
  ['pruning who was seen', 'seen_progress', () => pruneSeen(test.service, new Date())],
  [
    'uncounting who was seen',
    'seen_progress',
    () =>
      test.service
        .transaction()
        .execute((trx) => uncountSeen(trx, [{ eventId: ID, occurredAt: new Date() }])),
  ],
])('%s waits for who holds %s', async (_work, table, work) => {
  const holding = sql`select from ${sql.table(table)} for update`;
  await expect(whileHeld(test.db, holding, work)).resolves.not.toBeInstanceOf(Error);
});

it.each<[string, string, () => Promise<unknown>]>([
  ['counting arrivals', 'arrivals_progress', () => rollUpArrivals(test.service)],
  ['counting who was seen', 'seen_progress', () => rollUpSeen(test.service)],
  ['extending the log', 'log_state', () => assignPositions(test.service)],
  ['sealing', 'log_seal_state', () => whileSealing(test.service, async () => 'sealed')],
])('%s is left to who holds %s', async (_work, table, work) => {
  await test.db.transaction().execute(async (trx) => {
    await sql`select from ${sql.table(table)} for update`.execute(trx);
    expect(await work()).toBeUndefined();
  });
  expect(await work()).toBeDefined();
});

it('a row of the locks is held by one at a time, whoever creates it', async () => {
  await Promise.all([createLock(test.service, 'one'), createLock(test.service, 'one')]);
  const lock = (name: string) => test.service.transaction().execute((trx) => lockRow(trx, name));
  await whileHeld(test.db, sql`select from locks where name = 'one' for update`, () => lock('one'));
  await expect(lock('none')).rejects.toThrow('no row none');
});

it('a change of sources begins with what the change before has written', async () => {
  await insertSource(test.service, 'east', { number: 1 });
  const holding = sql`update sources set definition = '{"number": 2}' where name = 'east'`;
  const seen: unknown[] = [];
  const change = (source: { definition: unknown }) => {
    seen.push(source.definition);
    return { definition: { number: 1 }, oldSecretsUntil: null };
  };
  await whileHeld(test.db, holding, () => changeSource(test.service, 'east', change));
  await whileHeld(test.db, holding, () => changeAllSources(test.service, change));
  expect(seen).toEqual([{ number: 2 }, { number: 2 }]);
});

it('a comparison judges a quarter by what the comparison before has proven', async () => {
  const quarter = new Date('2026-03-01T10:00:00Z');
  const range: HistoryRange = {
    source: 'default',
    messageType: 'AUDIT_LOG_ALL',
    from: quarter,
    to: new Date('2026-03-01T10:15:00Z'),
  };
  const judged = (healed: number): ComparedQuarter => ({
    quarter,
    state: 'pending',
    reason: null,
    healed,
    matched: 0,
    onlyWebhook: 0,
    comparedAt: quarter,
    agreedAt: null,
  });
  const seen: number[] = [];
  const update = (given = range) =>
    updateCoverage(test.service, given, (before) => {
      seen.push(...before.map(({ healed }) => healed));
      return [judged(1)];
    });
  await update();
  await whileHeld(test.db, sql`update coverage set healed = 7`, update);
  const others: readonly Partial<HistoryRange>[] = [
    { source: 'other' },
    { messageType: 'SMS_LOG_ALL' },
    { from: range.to, to: new Date('2026-03-01T11:00:00Z') },
    { from: new Date('2026-03-01T09:00:00Z'), to: quarter },
  ];
  for (const other of others) await update({ ...range, ...other });
  expect(seen).toEqual([7]);
});

it('a downtime is recorded by the first of two processes that start', async () => {
  const note = () => test.service.transaction().execute((trx) => noteReceiving(trx, new Date()));
  await note();
  await test.query`update heartbeat set receiving_at = now() - interval '1 hour'`;
  const holding = sql`update heartbeat set receiving_at = now()`;
  await whileHeld(test.db, holding, note);
  expect(await test.query`select from gaps`).toEqual([]);
});

it('an item of quarantine is replayed by one at a time', async () => {
  await test.query`insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
    values (${ID}, ${ID}, now(), 's', 'AUDIT_LOG_ALL', 'x', '')`;
  const lock = (scope: typeof ALL_SOURCES | readonly string[]) =>
    test.service.transaction().execute((trx) => lockQuarantined(trx, scope, [ID]));
  const locked = await whileHeld(test.db, sql`select from quarantine for update`, () => lock(ALL_SOURCES));
  expect(locked).toHaveLength(1);
  expect(await lock(['other'])).toEqual([]);
});
