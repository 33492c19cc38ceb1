import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  followGaps,
  isLate,
  listGaps,
  noteReceiving,
  recordRefused,
  type SuspectedGap,
} from '../../../src/store/reconcile/gaps.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { insertAudits } from '../../support/stored-rows.ts';
import { useDatabase } from '../../support/use-database.ts';
import type { GapReason } from '../../../src/store/server/schema/cloud-tables.ts';

const test = useDatabase();
beforeEach(() => sql`truncate gaps, heartbeat`.execute(test.db));

const EVER = { since: new Date(0), until: new Date('2100-01-01') };
const gaps = () => listGaps(test.db, ALL_SOURCES, EVER);

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);

const note = (startedAt: Date) => test.db.transaction().execute((trx) => noteReceiving(trx, startedAt));

describe('downtime', () => {
  const lastReport = (seconds: number) =>
    sql`update heartbeat set receiving_at = now() - make_interval(secs => ${seconds})`.execute(test.db);

  it('is the time between the last report of any process and the next start', async () => {
    await note(ago(10_000));
    await lastReport(3_600);
    const started = ago(600);
    await note(started);
    await note(started);
    const found = await gaps();
    expect(found).toMatchObject([{ source: null, message_type: null, reason: 'downtime' }]);
    const [gap] = found;
    expect((Date.now() - (gap?.began_at.getTime() ?? 0)) / 1_000).toBeCloseTo(3_600, -2);
    expect(gap?.ended_at).toEqual(new Date(started.getTime() + 60_000));
  });

  it('is none if the process ran, and only its reports failed', async () => {
    const started = ago(10_000);
    await note(started);
    await lastReport(3_600);
    await note(started);
    expect(await gaps()).toEqual([]);
  });

  it('is none at the first start, nor after a quick restart', async () => {
    await note(ago(1));
    await lastReport(20);
    await note(ago(1));
    expect(await gaps()).toEqual([]);
  });
});

describe('refused deliveries', () => {
  const refused = (first: Date, last: Date, deliveries: number, of: object = {}) =>
    recordRefused(test.db, [
      { source: 'branch', messageType: 'AUDIT_LOG_ALL', first, last, deliveries, ...of },
    ]);

  it('are one gap as long as they follow each other within a quarter of an hour', async () => {
    const times = [ago(3_600), ago(3_000), ago(2_400)] as const;
    await refused(times[0], times[0], 3);
    await refused(times[1], times[2], 4);
    expect(await gaps()).toMatchObject([
      { source: 'branch', began_at: times[0], ended_at: times[2], detail: { deliveries: 7 } },
    ]);
    // Of another source or type, before them, and long after them.
    await refused(times[1], times[1], 1, { source: 'other' });
    await refused(times[1], times[1], 1, { messageType: 'SMS_LOG_ALL' });
    await refused(ago(4_000), ago(3_700), 1);
    await refused(ago(60), ago(50), 1);
    expect((await gaps()).map(({ detail }) => detail)).toEqual(
      [1, 1, 1, 7, 1].map((deliveries) => ({ deliveries })),
    );
  });
});

describe('a reason that persists', () => {
  const gap = (reason: GapReason, since: Date | undefined, messageType = 'AUDIT_LOG_ALL'): SuspectedGap => ({
    source: 'branch',
    messageType,
    reason,
    since,
    detail: { status: 'DISABLED' },
  });
  const OFF = { source: 'branch', reasons: ['subscription off'] } as const;

  it('is one gap, from its first look to the first look without it', async () => {
    const since = ago(600);
    await followGaps(test.db, OFF, [gap('subscription off', since)], ago(500));
    await followGaps(test.db, OFF, [gap('subscription off', ago(500))], ago(400));
    expect(await gaps()).toMatchObject([{ began_at: since, ended_at: null, detail: { status: 'DISABLED' } }]);
    await followGaps(test.db, { ...OFF, source: 'other' }, [], ago(300));
    expect(await gaps()).toMatchObject([{ ended_at: null }]);
    const ended = ago(200);
    await followGaps(test.db, OFF, [], ended);
    expect(await gaps()).toMatchObject([{ began_at: since, ended_at: ended }]);
  });

  it('begins with the last delivery if nothing else is known, or now', async () => {
    const last = ago(5_000);
    await deliverAndCount(test.db, { receivedAt: last, messageType: 'SMS_LOG_ALL', source: 'branch' });
    const now = ago(1);
    const suspected = ['SMS_LOG_ALL', 'EMAIL_LOG_ALL'].map((type) =>
      gap('subscription off', undefined, type),
    );
    await followGaps(test.db, OFF, suspected, now);
    expect((await gaps()).map((gap) => [gap.message_type, gap.began_at])).toEqual([
      ['EMAIL_LOG_ALL', now],
      ['SMS_LOG_ALL', last],
    ]);
  });

  it('ends, if it is a silence, only with a delivery', async () => {
    const last = ago(9_000);
    const delivered = { messageType: 'AUDIT_LOG_ALL', source: 'branch' } as const;
    await deliverAndCount(test.db, { ...delivered, receivedAt: last });
    const look = (...suspected: SuspectedGap[]) =>
      followGaps(test.db, { reasons: ['silence'] }, suspected, ago(1));
    await look(gap('silence', last));
    await look();
    expect(await gaps()).toMatchObject([{ began_at: last, ended_at: null }]);
    await deliverAndCount(test.db, { ...delivered, receivedAt: ago(30) });
    await look();
    const ended = await gaps();
    expect(ended).toHaveLength(1);
    expect(ended).not.toMatchObject([{ ended_at: null }]);
  });
});

it.each([
  ['2026-03-03T23:59:59.999Z', {}],
  ['2026-03-04T00:00:00Z', { has_late: true }],
])(
  'a month that retention drops is a gap of each type, which says if events came late: %s',
  async (receivedAt, detail) => {
    const month = new Date('2026-01-15');
    await maintainPartitions(test.db, month, {});
    await insertAudits(test.db, { occurredAt: month, receivedAt });
    expect(isLate('audit_events_2026_01', new Date(receivedAt))).toBe('has_late' in detail);
    await maintainPartitions(test.db, new Date('2026-06-15'), { audit: 2 });
    const dropped = await gaps();
    expect(dropped).toContainEqual({
      source: null,
      message_type: 'AUDIT_LOG_ALL',
      reason: 'retention',
      began_at: new Date('2026-01-01'),
      ended_at: new Date('2026-02-01'),
      detail,
    });
    expect(new Set(dropped.map(({ message_type: type }) => type))).toEqual(new Set(['AUDIT_LOG_ALL']));
  },
);

it('a reader of some sources sees their gaps and those of all sources', async () => {
  await test.query`insert into gaps (source, began_at, reason) values
    ('branch', now(), 'refused'), ('other', now(), 'refused'), (null, now(), 'downtime')`;
  const seen = await listGaps(test.db, ['branch'], EVER);
  expect(new Set(seen.map(({ source }) => source))).toEqual(new Set(['branch', null]));
});

it('a gap is of a range that it reaches into, of its source and type', async () => {
  const [from, to] = [new Date('2026-03-01T10:00Z'), new Date('2026-03-01T11:00Z')];
  await test.query`insert into gaps (source, message_type, began_at, ended_at, reason)
    values ('branch', 'AUDIT_LOG_ALL', ${from}, ${to}, 'refused')`;
  const count = async (filter: object) =>
    (await listGaps(test.db, ALL_SOURCES, { ...EVER, ...filter })).length;
  const just = (time: Date, ms: number) => new Date(time.getTime() + ms);
  expect(await count({ since: to })).toBe(0);
  expect(await count({ since: just(to, -1) })).toBe(1);
  expect(await count({ until: from })).toBe(0);
  expect(await count({ until: just(from, 1) })).toBe(1);
  expect([await count({ source: 'branch' }), await count({ source: 'other' })]).toEqual([1, 0]);
  expect(await count({ messageTypes: ['AUDIT_LOG_ALL'] })).toBe(1);
  expect(await count({ messageTypes: ['SMS_LOG_ALL'] })).toBe(0);
});
