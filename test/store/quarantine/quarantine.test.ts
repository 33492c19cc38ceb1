import type { QuarantineState } from '../../../src/store/server/schema/delivery-tables.ts';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { countReceivedItems, discardQuarantined } from '../../../src/store/quarantine/quarantine.ts';
import {
  countOpenBySource,
  countQuarantine,
  findQuarantined,
  openQuarantine,
  quarantinedOf,
  readContent,
  readOpenQuarantine,
  searchQuarantine,
  type QuarantineFilter,
} from '../../../src/store/quarantine/search-quarantine.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { unguarded } from '../../support/database.ts';
import { planOf } from '../../support/plan.ts';
import { useDatabase } from '../../support/use-database.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { storeDeliveries } from '../../support/actions.ts';

const test = useDatabase();
/** Ids in order of arrival: of the first the bytes were emptied. */
let ids: string[];
beforeAll(async () => {
  const deliveries = ['%_ one', 'two', 'THREE', 'four', 'five'].map((reason, n) =>
    queuedDelivery(n % 2 === 0 ? 'AUDIT_LOG_ALL' : 'SMS_LOG_ALL', [], {
      source: n < 3 ? 'first' : 'second',
      receivedAt: Date.parse(`2031-01-0${n + 1}`),
      unreadable: [{ reason, content: Buffer.from(`bytes ${n}`).toString('base64') }],
      recordCount: 1,
    }),
  );
  await storeDeliveries(test.service, ...deliveries);
  const stored = await searchQuarantine(test.service, ALL_SOURCES, {}, 'all', 10);
  ids = stored.map((item) => item.quarantine_id).toReversed();
  await discardQuarantined(test.service, ALL_SOURCES, ids.slice(0, 1));
});

const second = () => ids[1] ?? '';

describe('quarantine', () => {
  it.each<[number[], QuarantineFilter, QuarantineState]>([
    [[4, 3, 2, 1], {}, 'open'],
    [[4, 3, 2, 1, 0], {}, 'all'],
    [[0], {}, 'discarded'],
    [[], {}, 'replayed'],
    [[4, 3], { source: 'second' }, 'open'],
    [[3, 1], { messageType: 'SMS_LOG_ALL' }, 'open'],
    [[2], { reason: 'three' }, 'open'],
    [[0], { reason: '%' }, 'all'],
    [[], { reason: "' or true --" }, 'all'],
    [[3, 2], { since: new Date('2031-01-03'), until: new Date('2031-01-05') }, 'open'],
  ])('finds %j by %j, %s, newest first', async (expected, filter, state) => {
    const found = await searchQuarantine(test.service, ALL_SOURCES, filter, state, 10);
    expect(found.map((item) => ids.indexOf(item.quarantine_id))).toEqual(expected);
    expect(await countQuarantine(test.service, ALL_SOURCES, filter, state)).toBe(expected.length);
  });

  it('is counted while it is open, with the time of the oldest, for those who may see its source', async () => {
    const first = { count: 4, oldestReceivedAt: new Date('2031-01-02') };
    expect(await readOpenQuarantine(test.service, ALL_SOURCES)).toEqual(first);
    expect(await readOpenQuarantine(test.service, ['second'])).toEqual({
      count: 2,
      oldestReceivedAt: new Date('2031-01-04'),
    });
    expect(await readOpenQuarantine(test.service, [])).toEqual({ count: 0, oldestReceivedAt: null });
    expect(await readOpenQuarantine(test.service, ALL_SOURCES, 3)).toEqual({ ...first, count: 3 });
  });

  it('is read page by page, newest first, or oldest first while it is open', async () => {
    const placesOf = (items: readonly { readonly quarantine_id: string }[]) =>
      items.map((item) => ids.indexOf(item.quarantine_id));
    const pages = await Array.fromAsync(openQuarantine(test.service, ALL_SOURCES, {}, 2));
    expect(pages.map(placesOf)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    const filter = { source: 'second' };
    const found = await Array.fromAsync(openQuarantine(test.service, ALL_SOURCES, filter, 3));
    expect(found.map(placesOf)).toEqual([[3, 4]]);
    const after = await searchQuarantine(test.service, ALL_SOURCES, {}, 'all', 2, ids[3]);
    expect(placesOf(after)).toEqual([2, 1]);
    expect(after.map(({ bytes }) => bytes)).toEqual([7, 7]);
  });

  it('is counted by source, and by what became of it', async () => {
    expect(await countOpenBySource(test.service, ALL_SOURCES)).toEqual(
      new Map([
        ['first', 2],
        ['second', 2],
      ]),
    );
    expect(await countOpenBySource(test.service, ['second'])).toEqual(new Map([['second', 2]]));
    const range = { since: new Date('2031-01-01'), until: new Date('2031-01-03') };
    expect(await countReceivedItems(test.service, ALL_SOURCES, range)).toEqual({
      open: 1,
      replayed: 0,
      discarded: 1,
    });
  });

  it('of a source is hidden from those who may not see it', async () => {
    const [id = ''] = ids.slice(1);
    const [item] = await findQuarantined(test.service, ALL_SOURCES, [id]);
    expect(await quarantinedOf(test.service, ALL_SOURCES, item?.delivery_id ?? '', 5)).toHaveLength(1);
    expect(await discardQuarantined(test.service, ['second'], [id])).toBe(0);
    expect(await findQuarantined(test.service, ['second'], [id])).toEqual([]);
    expect(await quarantinedOf(test.service, ['second'], item?.delivery_id ?? '', 5)).toEqual([]);
    await expect(readContent(test.service, ['second'], id)).rejects.toThrow('no result');
    expect((await readContent(test.service, ['first'], id)).toString()).toBe('bytes 1');
  });

  it('lists the newest from an index', async () => {
    const newest = sql`select * from quarantine where resolution is null
      order by received_at desc, quarantine_id desc limit 50`;
    const plan = await planOf(test.service, newest, 'off');
    expect(plan).toContain('Index Scan Backward using quarantine_open');
    expect(plan).not.toContain('Sort');
  });

  const resolved =
    "resolution = 'replayed', resolved_at = now(), replay_delivery_id = delivery_id where resolution is null";
  it.each([
    ['delete from quarantine'],
    ['truncate quarantine'],
    ["update quarantine set reason = 'x'"],
    ["update quarantine set content = ''"],
    ["update quarantine set source = 'x'"],
    [`update quarantine set encoding = 'br', ${resolved}`],
    [`update quarantine set content = 'x', ${resolved}`],
    [`update quarantine set twins_before = 1, ${resolved}`],
    [`update quarantine set sent_type = 'X', ${resolved}`],
    ['update quarantine set resolution = null, resolved_at = null, discarded_bytes = null'],
    [
      'insert into quarantine table quarantine on conflict (quarantine_id) do update set delivery_id = gen_random_uuid()',
    ],
    ['merge into quarantine using (values (1)) as other on true when matched then delete'],
  ])('is safe from the service and from a superuser: %s', async (statement) => {
    const refused = /permission denied|stays as it was written/;
    await expect(sql.raw(statement).execute(test.service)).rejects.toThrow(refused);
    await expect(sql.raw(statement).execute(test.db)).rejects.toThrow(/stays as it was written/);
  });

  it.each([
    ["resolution = 'lost', resolved_at = now()"],
    ["resolution = 'replayed', resolved_at = now()"],
    ["resolution = 'discarded', resolved_at = now(), discarded_bytes = 7"],
    ["resolution = 'discarded', resolved_at = now(), content = ''"],
  ])('takes no resolution that is not whole: %s', async (values) => {
    const attempt = sql`update quarantine set ${sql.raw(values)} where quarantine_id = ${second()}`;
    await expect(attempt.execute(test.service)).rejects.toThrow(/quarantine_resolution/);
  });
});

describe('the conservation view', () => {
  const gaps = async () =>
    await test.query`
      select source, message_type, quarantine_gaps::int as gaps, adds_up from conservation
      where not adds_up`;

  it('notices what vanished from quarantine, and what nobody put there', async () => {
    expect(await gaps()).toEqual([]);
    await unguarded(test.db, (trx) =>
      sql`delete from quarantine where quarantine_id = ${second()}`.execute(trx),
    );
    expect(await gaps()).toEqual([{ source: 'first', message_type: 'SMS_LOG_ALL', gaps: 1, adds_up: false }]);
    await test.query`
      insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
      values (${second()}, gen_random_uuid(), now(), 'second', 'SMS_LOG_ALL', 'x', '')`;
    expect(await gaps()).toMatchObject([{ source: 'first' }, { source: 'second', gaps: 1 }]);
  });
});
