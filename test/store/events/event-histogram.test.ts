import { beforeAll, describe, expect, it } from 'vitest';
import { eventHistogram } from '../../../src/store/events/event-histogram.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { whileLocked } from '../../support/row-lock.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const SINCE = new Date('2026-01-01T10:00:00Z');
const UNTIL = new Date('2026-01-01T20:00:00Z');
const EVENTS = 20_000;
const HOURS = 10;

const test = useDatabase();
beforeAll(async () => {
  await test.query`
    insert into log_entries (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
    select ${SINCE}::timestamptz + interval '10 hours' * ((n - 1) / ${EVENTS}::float8), now(), gen_random_uuid(),
           gen_random_uuid(), 's', 'SMS_LOG_ALL', 'webhook', '{}'
    from generate_series(1, ${EVENTS}::int) as n`;
});

const histogram = (maxBars: number) =>
  eventHistogram(test.db, ALL_SOURCES, { since: SINCE, until: UNTIL }, maxBars);

describe('the bars of a histogram', () => {
  it.each([
    [36_000, 1],
    [1_000, 60],
    [120, 300],
    [10, 3_600],
    [9, 7_200],
    [2, 43_200],
  ])('are %i at most: as narrow as a round width allows, %i seconds', async (maxBars, width) => {
    const { bucketSeconds, bars } = await histogram(maxBars);
    expect(bucketSeconds).toBe(width);
    expect(bars.length).toBeLessThanOrEqual(maxBars);
  });

  it('begin at round times and hold what lies in them, the empty ones as well', async () => {
    const since = new Date('2026-01-01T08:30:00Z');
    const { bars } = await eventHistogram(test.db, ALL_SOURCES, { since, until: UNTIL }, 12);
    expect(bars.map(({ start }) => start.toISOString().slice(11, 16))).toEqual(
      ['08', '09', '10', '11', '12', '13', '14', '15', '16', '17', '18', '19'].map((hour) => `${hour}:00`),
    );
    expect(bars.map(({ counts }) => counts['SMS_LOG_ALL'] ?? 0)).toEqual([
      0,
      0,
      ...Array.from({ length: HOURS }, () => EVENTS / HOURS),
    ]);
  });

  it('of weeks begin on Mondays, and of ranges of any length there are no more than asked for', async () => {
    const range = { since: new Date('2025-01-01T00:00:00Z'), until: UNTIL };
    const weeks = await eventHistogram(test.db, ALL_SOURCES, range, 60);
    expect(weeks.bucketSeconds).toBe(7 * 86_400);
    expect(new Set(weeks.bars.map(({ start }) => start.getUTCDay()))).toEqual(new Set([1]));
    const ages = await eventHistogram(test.db, ALL_SOURCES, { since: new Date(0), until: UNTIL }, 5);
    expect(ages.bars.length).toBeLessThanOrEqual(5);
    expect(ages.bars.at(-1)?.counts).toEqual({ SMS_LOG_ALL: EVENTS });
  });
});

describe('a histogram that cannot be counted in time', () => {
  it('is estimated from parts of each bar', async () => {
    const { bars, isComplete } = await whileLocked(test.db, 'log_entries', async (unlock) => {
      const estimated = histogram(10);
      await waitFor(() => isWaiting('%as sampled%'));
      await unlock();
      return estimated;
    });
    expect(isComplete).toBe(false);
    expect(bars).toHaveLength(HOURS);
    const counts = bars.map(({ counts }) => counts['SMS_LOG_ALL'] ?? 0);
    for (const count of counts) expect(Math.abs(count - EVENTS / HOURS)).toBeLessThan(0.3 * (EVENTS / HOURS));
  });

  it('is empty when an estimate takes too long as well, and does not wait for it', async () => {
    // The lock is released only after the answer.
    const { bars, isComplete } = await whileLocked(test.db, 'log_entries', () => histogram(10));
    expect(isComplete).toBe(false);
    expect(bars.map(({ counts }) => counts)).toEqual(Array.from({ length: HOURS }, () => ({})));
  });
});

async function isWaiting(query: string): Promise<boolean> {
  const rows = await test.query`
    select from pg_stat_activity
    where query like ${query} and wait_event_type = 'Lock' and datname = current_database()`;
  return rows.length > 0;
}
