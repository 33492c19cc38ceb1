import { describe, expect, it } from 'vitest';
import { learnPattern } from '../../../src/observe/silence/arrival-pattern.ts';
import { describeSilence, judgeSilence } from '../../../src/observe/silence/silence.ts';
import type { HistoryHour } from '../../../src/observe/silence/weekly-rates.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, START } from '../simulated-arrivals.ts';

/** Four weeks later: a Monday again. */
const END = START + 28 * DAY_MS;

/** So many hours of 28 days, each with so many deliveries, evenly apart. */
function hoursOf(rateAt: (time: number) => number, days = 28): HistoryHour[] {
  return Array.from({ length: days * 24 }, (_, index) => {
    const start = END - days * DAY_MS + index * HOUR_MS;
    const deliveries = rateAt(start);
    const gap = { from: start, to: start + HOUR_MS / deliveries };
    return { start, deliveries, longestGap: deliveries === 0 ? undefined : gap };
  });
}

function learn(rateAt: (time: number) => number, days?: number) {
  const pattern = learnPattern(hoursOf(rateAt, days), END);
  if (pattern === undefined) throw new Error('nothing was learned');
  return pattern;
}

/** From 8 to 18 o'clock every day, but for that of the week in which the hour 0 of the week begins. */
const isOffice = (time: number) => {
  const hour = new Date(time).getUTCHours();
  return hour >= 8 && hour < 18;
};

describe('what usually arrives', () => {
  const { expected, leastExpected } = learn((time) => (isOffice(time) ? 60 : 0));
  const between = (from: number, to: number) =>
    [expected, leastExpected].map((sum) => sum(END + from * HOUR_MS, END + to * HOUR_MS));

  it('is that of the hour of the week and its neighbours; where a day begins or ends, it may be an hour off', () => {
    expect(between(9, 10)).toEqual([60, 60]);
    expect(between(9.5, 9.75)).toEqual([15, 15]);
    expect(between(7, 9)).toEqual([60, 15]);
    expect(between(17, 19)).toEqual([60, 15]);
    expect(between(0, 7)).toEqual([0, 0]);
    // A whole day, and seven weeks of them.
    expect(between(-3, 21)).toEqual([600, 510]);
    expect(between(10, 10 + 7 * 168)).toEqual([7 * 7 * 600, 7 * 7 * 510]);
    expect(between(10, 9)).toEqual([0, 0]);
  });

  it('has edges only where much more arrives than beside it', () => {
    const least = (rate: number, beside: number) =>
      learn((time) => (isOffice(time) ? rate : beside)).leastExpected(END + 8 * HOUR_MS, END + 9 * HOUR_MS);
    expect(least(60, 15)).toBe((15 + 3 * 60) / 4);
    expect(least(60, 14)).toBe(14);
    expect(least(2.9, 0.5)).toBeCloseTo((0.5 + 3 * 2.9) / 4);
    expect(least(3, 0.5)).toBe(0.5);
  });

  it('is less where less has arrived in the last week, and never more', () => {
    const lastWeek = END - 7 * DAY_MS;
    const inHour = (before: number, since: number) =>
      learn((time) => (time < lastWeek ? before : since)).expected(END + 5 * HOUR_MS, END + 6 * HOUR_MS);
    expect(inHour(60, 30)).toBeCloseTo(30, 1);
    expect(inHour(60, 120)).toBeCloseTo(75);
  });

  it('does not become less by an outage, whose gap is no usual one', () => {
    const [from, to] = [END - 9 * DAY_MS, END - 6 * DAY_MS];
    const hours = hoursOf(() => 60).filter(({ start }) => start < from || start >= to);
    const outage = { from: from - MINUTE_MS, to };
    const last = hours.findLast(({ start }) => start < from);
    const known = hours.map((hour) => (hour === last ? { ...hour, longestGap: outage } : hour));
    const pattern = learnPattern(known, END);
    expect(pattern?.expected(END, END + HOUR_MS)).toBeCloseTo(60);
    expect(pattern?.gaps).toHaveLength(known.length - 1);
    expect(pattern?.gaps).not.toContain(outage);
  });
});

describe('the bound of what is usual', () => {
  /** The days of a history, without the first hour, of which only a part may be known. */
  const days = (of: number) => of - 1 / 24;

  it('is that of the longest gaps: for even ones, which 32 of a history exceed, once in 6.7 years', () => {
    expect(learn(() => 60).bound).toBeCloseTo(1 + Math.log((32 * 365) / days(28) / 0.15));
    expect(learn(() => 60, 14).bound).toBeCloseTo(1 + Math.log((32 * 365) / days(14) / 0.15));
  });

  it('is higher for bursts, and needs six gaps', () => {
    const gapsOf = (lengths: readonly number[]) => {
      const hours = hoursOf(() => 1).map((hour) => ({ ...hour, longestGap: undefined }));
      return learnPattern(
        hours.map((hour, index) => {
          const length = lengths[index / 24];
          const gap = { from: hour.start, to: hour.start + (length ?? 0) * HOUR_MS };
          return length === undefined ? hour : { ...hour, longestGap: gap };
        }),
        END,
      );
    };
    // Beside the two longest, half of nine: 14, 12, 10, 8 and 6, beyond 4.
    const mean = (10 + 8 + 6 + 4 + 2 + 2 * 10) / 5;
    const times = Math.log(((5 + 2) * 365) / days(28) / 0.15);
    expect(gapsOf([2, 18, 4, 16, 6, 14, 8, 12, 10])?.bound).toBeCloseTo(4 + (1 + 1.3 * (mean - 1)) * times);
    // All alike, they are known to a tenth.
    expect(gapsOf(Array<number>(9).fill(20))?.bound).toBeCloseTo(20 + 2 * times);
    expect(gapsOf([1, 1, 1, 1, 1, 1])?.bound).toBeDefined();
    expect(gapsOf([1, 1, 1, 1, 1])).toBeUndefined();
  });

  it('is not known before a week', () => {
    expect(
      learnPattern(
        hoursOf(() => 60, 7),
        END,
      ),
    ).toBeUndefined();
    const week = hoursOf(() => 60, 8).slice(23);
    expect(learnPattern(week, END)).toBeDefined();
    expect(learnPattern(week.slice(1), END)).toBeUndefined();
    expect(learnPattern([], END)).toBeUndefined();
  });
});

describe('a silence', () => {
  const LAST = END + 30 * MINUTE_MS;
  const gap = (hours: number, minutes: number) => {
    const from = END - 7 * DAY_MS + hours * HOUR_MS;
    return { from, to: from + minutes * MINUTE_MS };
  };
  /** One delivery a minute; more than twenty are unusual. */
  const pattern = {
    expected: (from: number, to: number) => (to - from) / MINUTE_MS,
    leastExpected: (from: number, to: number) => Math.max(0, to - from) / MINUTE_MS,
    bound: 20,
    gaps: [gap(0.8, 7), gap(-6 * 24, 3), gap(30, 50)],
  };
  const judge = (minutes: number, away?: readonly [from: number, to: number], of = pattern) => {
    const [from, to] = (away ?? [minutes, minutes]).map((minute) => LAST + minute * MINUTE_MS);
    return judgeSilence(of, LAST, LAST + minutes * MINUTE_MS, { from: from ?? 0, to: to ?? 0 });
  };

  it('is unusual beyond the bound, and beside the longest that began in such an hour', () => {
    expect(judge(20)).toEqual({
      state: 'usual',
      silentSeconds: 1_200,
      expected: 20,
      longestUsualSeconds: 420,
    });
    expect(judge(20.1).state).toBe('unusual');
    // Later, others are alike, too; before, any.
    expect(judge(31 * 60).longestUsualSeconds).toBe(3_000);
    expect(judge(1, undefined, { ...pattern, gaps: [gap(-1, 9), gap(-30, 4)] }).longestUsualSeconds).toBe(
      540,
    );
  });

  it('is never unusual below five minutes, whatever arrives', () => {
    const busy = { ...pattern, bound: 1 };
    expect([4.99, 5].map((minutes) => judge(minutes, undefined, busy).state)).toEqual(['usual', 'unusual']);
  });

  it('does not count while this service was away', () => {
    expect(judge(40, [-60, 20]).state).toBe('usual');
    expect(judge(40, [-60, 19]).state).toBe('unusual');
    expect(judge(40, [20, 60]).state).toBe('usual');
    expect(judge(40, [21, 60]).state).toBe('unusual');
    expect(judge(40, [-60, -30]).state).toBe('unusual');
    const busy = { ...pattern, bound: 1 };
    expect([16, 15].map((until) => judge(20, [0, until], busy).state)).toEqual(['usual', 'unusual']);
  });

  it('means nothing without a pattern, after four weeks, and where nothing has ever arrived', () => {
    const weeks = 28 * 24 * 60;
    expect([weeks, weeks + 1].map((minutes) => judge(minutes).state)).toEqual(['unusual', 'unknown']);
    expect(judgeSilence(undefined, LAST, LAST + HOUR_MS)).toMatchObject({ state: 'unknown', expected: 0 });
    expect(judgeSilence(pattern, undefined, LAST)).toMatchObject({ state: 'never', silentSeconds: 0 });
    expect(judgeSilence(pattern, LAST, LAST - HOUR_MS)).toMatchObject({ state: 'usual', silentSeconds: 0 });
  });

  it('is told of with what usually arrives', () => {
    expect(describeSilence(judge(60))).toBe(
      'nothing for 1 h; about 60 deliveries usually arrive in that time, and the longest usual gap is 7 min',
    );
  });
});
