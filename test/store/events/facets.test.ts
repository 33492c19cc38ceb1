import { beforeAll, expect, it } from 'vitest';
import { countFacet } from '../../../src/store/events/facets.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { whileLocked } from '../../support/row-lock.ts';
import { useDatabase } from '../../support/use-database.ts';

const SINCE = new Date('2026-02-01T00:00:00Z');
const UNTIL = new Date('2026-03-29T00:00:00Z');
const DAYS = 56;

const test = useDatabase();

/** An event of each day, in a partition for each of the two months. */
beforeAll(async () => {
  await test.query`create table log_old partition of log_entries for values from ('2026-02-01') to ('2026-03-01')`;
  await test.query`create table log_new partition of log_entries for values from ('2026-03-01') to ('2026-04-01')`;
  await test.query`
    insert into log_entries (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload, ssid)
    select ${SINCE}::timestamptz + interval '1 day' * n + interval '1 hour', now(), gen_random_uuid(), gen_random_uuid(), 's',
      'ACCOUNTING_LOG_ALL', 'webhook', '{}', case when n % 2 = 0 then 'even' else 'odd' end
    from generate_series(0, ${DAYS - 1}::int) as n`;
});

const ssids = (milliseconds?: number) =>
  countFacet(test.db, ALL_SOURCES, { since: SINCE, until: UNTIL }, 'ssid', 10, milliseconds);

it('counts all events of a range, the most frequent values first', async () => {
  const values = ['even', 'odd'].map((value) => ({ value, count: DAYS / 2 }));
  expect(await ssids()).toEqual({ values, since: SINCE, isComplete: true });
});

it('counts the newest events if the others take too long, and says since when', async () => {
  const { values, since, isComplete } = await whileLocked(test.db, 'log_old', () => ssids(2_000));
  expect(isComplete).toBe(false);
  // An eighth of the range: seven days, which begin with an odd one.
  expect(since).toEqual(new Date(UNTIL.getTime() - 7 * 86_400_000));
  expect(values).toEqual([
    { value: 'odd', count: 4 },
    { value: 'even', count: 3 },
  ]);
});

it('has no counts if not even the newest events are counted in that time', async () => {
  expect(await whileLocked(test.db, 'log_entries', () => ssids())).toEqual({
    values: [],
    since: undefined,
    isComplete: false,
  });
});

it('waits for as long as it is told', async () => {
  const counting = await whileLocked(test.db, 'log_old', async () => {
    const counting = ssids(10_000);
    await ssids();
    return { counting };
  });
  expect(await counting.counting).toEqual(await ssids());
});
