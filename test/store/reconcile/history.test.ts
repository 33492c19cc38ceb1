import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import {
  endLease,
  findFetched,
  forgetOldLinks,
  readComparedUntil,
  readHistoryLinks,
  readHistoryRows,
  saveComparedUntil,
  saveHistory,
  takeLease,
} from '../../../src/store/reconcile/history.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { emptyTables, unguarded } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(async () => {
  await emptyTables(test.db);
  await unguarded(test.db, (trx) =>
    sql`truncate superseded_events, history_records, history_leases, history_progress`.execute(trx),
  );
});

const FROM = Date.parse('2026-03-01T10:00:00Z');
const RANGE = {
  source: 'default',
  messageType: 'AUDIT_LOG_ALL',
  from: new Date(FROM),
  to: new Date(FROM + 1_000),
} as const;

const store = (times: readonly number[], given: Parameters<typeof queuedDelivery>[2] = {}) =>
  storeDeliveries(
    test.service,
    queuedDelivery(
      'AUDIT_LOG_ALL',
      times.map((at, userId) => auditRecord({ id: `r${at}`, timeStamp: FROM + at, userId })),
      given,
    ),
  );

const read = (range = RANGE) => Array.fromAsync(readHistoryRows(test.service, range));

it('reads the events of a source, a type and a range, each once, in pages', async () => {
  // More than a page that share a millisecond.
  await store([...Array.from({ length: 1_001 }, () => 500), -1, 0, 999, 1_000]);
  await store([500], { source: 'other' });
  await storeDeliveries(test.service, queuedDelivery('SMS_LOG_ALL', [{ timeStamp: FROM + 500 }]));
  const rows = await read();
  expect(new Set(rows.map(({ eventId }) => eventId)).size).toBe(1_003);
  expect(rows).toHaveLength(1_003);
  expect(rows[0]).toMatchObject({
    occurredAt: RANGE.from,
    origin: 'webhook',
    recordId: 'r0',
    isLinked: false,
  });
});

it('finds what was fetched, but not what a webhook brought or what supersedes it', async () => {
  await store([1, 2], { origin: 'backfill' });
  await store([3]);
  const ids = async () => [...(await findFetched(test.service, RANGE, ['r1', 'r3', 'r4'])).keys()];
  expect(await ids()).toEqual(['r1']);
  const [first] = await read();
  if (first === undefined) throw new Error('there is no event');
  const link = { logId: 'r1', at: first.occurredAt, event: first, status: null };
  await saveHistory(test.service, RANGE, [link], [{ ...first, supersededBy: crypto.randomUUID() }]);
  expect((await read()).map(({ recordId }) => recordId)).toEqual(['r2', 'r3']);
  expect(
    (await readHistoryLinks(test.service, 'default', 'AUDIT_LOG_ALL', ['r1', 'r2'])).get('r1'),
  ).toMatchObject({
    event: { eventId: first.eventId },
  });
  expect((await readHistoryLinks(test.service, 'other', 'AUDIT_LOG_ALL', ['r1'])).size).toBe(0);
  expect((await readHistoryLinks(test.service, 'default', 'SMS_LOG_ALL', ['r1'])).size).toBe(0);
});

it('knows since when a record has its status', async () => {
  const save = (status: string | null) =>
    saveHistory(test.service, RANGE, [{ logId: 'r1', at: RANGE.from, event: null, status }], []);
  const changedAt = async () =>
    (await test.db.selectFrom('history_records').select('status_changed_at').executeTakeFirstOrThrow())
      .status_changed_at;
  await save(null);
  const longAgo = new Date('2026-01-01');
  const setBack = () => test.db.updateTable('history_records').set({ status_changed_at: longAgo }).execute();
  for (const status of ['SENT', 'DELIVERED', null]) {
    await setBack();
    await save(status);
    expect(await changedAt()).not.toEqual(longAgo);
    await setBack();
    await save(status);
    expect(await changedAt()).toEqual(longAgo);
  }
});

it('forgets links of long ago, but none that has a status', async () => {
  const days = (count: number) => new Date(Date.now() - count * 86_400_000);
  const links = [
    { logId: 'old', at: days(91), event: null, status: null },
    { logId: 'status', at: days(91), event: null, status: 'SUCCESS' },
    { logId: 'young', at: days(89), event: null, status: null },
  ];
  await saveHistory(test.service, RANGE, links, []);
  await forgetOldLinks(test.service);
  const left = await readHistoryLinks(test.service, 'default', 'AUDIT_LOG_ALL', ['old', 'status', 'young']);
  expect([...left.keys()].toSorted()).toEqual(['status', 'young']);
});

it('a lease is of one holder, who renews it, until it ends', async () => {
  const [ours, theirs] = [crypto.randomUUID(), crypto.randomUUID()];
  const take = (holder: string, ms = 60_000) => takeLease(test.service, 'default', holder, ms);
  expect(await take(ours)).toBe(true);
  expect(await take(theirs)).toBe(false);
  await endLease(test.service, 'default', theirs);
  await endLease(test.service, 'other', ours);
  expect(await take(theirs)).toBe(false);
  expect(await take(ours, -1)).toBe(true);
  expect(await take(theirs)).toBe(true);
  await endLease(test.service, 'default', theirs);
  expect(await take(ours)).toBe(true);
});

it('what was compared of each source and type is remembered', async () => {
  const [first, second] = [new Date(FROM), new Date(FROM + 1)];
  const until = (source: string, type: 'AUDIT_LOG_ALL' | 'SMS_LOG_ALL') =>
    readComparedUntil(test.service, source, type);
  await saveComparedUntil(test.service, 'default', 'AUDIT_LOG_ALL', first);
  await saveComparedUntil(test.service, 'default', 'SMS_LOG_ALL', first);
  await saveComparedUntil(test.service, 'default', 'SMS_LOG_ALL', second);
  expect([await until('default', 'AUDIT_LOG_ALL'), await until('default', 'SMS_LOG_ALL')]).toEqual([
    first,
    second,
  ]);
  expect(await until('other', 'SMS_LOG_ALL')).toBeUndefined();
});
