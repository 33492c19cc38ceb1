import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import { QUARTER_MS } from '../../src/reconcile/compare-history.ts';
import { judgeQuarter, judgeRange, recordCoverage, type FoundQuarter } from '../../src/reconcile/coverage.ts';
import { LOGGED_TYPES } from '../../src/reconcile/log-kinds.ts';
import { LATENESS_MS } from '../../src/reconcile/schedule.ts';
import { readQuarters, type ComparedQuarter } from '../../src/store/reconcile/coverage.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { useDatabase } from '../support/use-database.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.parse('2026-01-31T08:00:00Z');
const quarter = new Date(START);

const found = (counts: Partial<FoundQuarter> = {}): FoundQuarter => ({
  quarter,
  matched: 0,
  onlyWebhook: 0,
  onlyLog: 0,
  ...counts,
});

/** The quarter after comparisons at these times after its start. */
const after = (...compared: readonly (readonly [ms: number, counts?: Partial<FoundQuarter>])[]) =>
  compared.reduce<ComparedQuarter | undefined>(
    (before, [ms, counts]) => judgeQuarter(before, found(counts), new Date(START + ms)),
    undefined,
  );

describe('a quarter of an hour', () => {
  it.each([
    ['pending after one agreement', 'pending', [[HOUR]]],
    ['pending after two that are too close', 'pending', [[HOUR], [HOUR + LATENESS_MS - 1]]],
    ['whole after two, a lag apart', 'whole', [[HOUR], [HOUR + LATENESS_MS]]],
    ['pending if the first agreement was too early', 'pending', [[QUARTER_MS], [QUARTER_MS + LATENESS_MS]]],
    ['pending as long as log records may be late', 'pending', [[HOUR, { onlyLog: 1 }]]],
    ['healed when they cannot be late any more', 'healed', [[HOUR, { onlyLog: 1 }], [7 * HOUR]]],
    ['healed at once when it was whole', 'healed', [[HOUR], [8 * HOUR], [9 * HOUR, { onlyLog: 2 }]]],
    ['pending while a log record is late', 'pending', [[HOUR, { onlyWebhook: 1 }], [8 * HOUR]]],
    [
      'whole without a record that the log has lost',
      'whole',
      [
        [7 * HOUR, { matched: 1, onlyWebhook: 1 }],
        [13 * HOUR, { matched: 1, onlyWebhook: 1 }],
      ],
    ],
    [
      'not comparable while the log is silent',
      'not comparable',
      [[HOUR], [8 * HOUR, { doubt: 'silent log' }]],
    ],
    ['whole once the log is not silent any more', 'whole', [[HOUR, { doubt: 'silent log' }], [8 * HOUR]]],
    [
      'not comparable until two whole lists agree',
      'not comparable',
      [[HOUR, { doubt: 'incomplete list' }], [8 * HOUR, { doubt: 'incomplete list' }], [9 * HOUR]],
    ],
    [
      'not healed by a list that is incomplete',
      'not comparable',
      [
        [HOUR, { onlyLog: 1 }],
        [8 * HOUR, { doubt: 'incomplete list' }],
      ],
    ],
    [
      'not whole any more when a record of it cannot be stored',
      'not comparable',
      [[HOUR], [8 * HOUR], [9 * HOUR, { doubt: 'record not stored' }]],
    ],
    [
      'whole whatever hides later',
      'whole',
      [[HOUR], [8 * HOUR], [9 * HOUR, { doubt: 'restricted context' }]],
    ],
    ['pending beyond the reach of the history', 'pending', [[8 * DAY], [9 * DAY]]],
    ['whole for ever', 'whole', [[HOUR], [8 * HOUR], [9 * DAY, { onlyWebhook: 5 }]]],
  ] as const)('is %s', (_name, state, compared) => {
    expect(after(...compared)?.state).toBe(state);
  });

  it('is never whole without two agreements, a lag apart and without a difference between them', () => {
    const comparison = record({
      pauseMs: integer({ min: 0, max: LATENESS_MS }),
      onlyLog: constantFrom(0, 0, 0, 1),
      onlyWebhook: constantFrom(0, 0, 1),
    });
    assert(
      property(array(comparison, { maxLength: 12 }), (comparisons) => {
        let at = START + QUARTER_MS;
        let before: ComparedQuarter | undefined;
        let agreedSince: number | undefined;
        let fetched = 0;
        for (const { pauseMs, ...counts } of comparisons) {
          at += pauseMs;
          fetched += counts.onlyLog;
          before = judgeQuarter(before, found({ ...counts, matched: 1 }), new Date(at));
          if (counts.onlyLog > 0) agreedSince = undefined;
          else agreedSince ??= at;
          expect(before.healed).toBe(fetched);
          const { state } = before;
          expect(state === 'whole' && (fetched > 0 || at - (agreedSince ?? at) < LATENESS_MS)).toBe(false);
          expect(state === 'healed' && at < START + QUARTER_MS + LATENESS_MS).toBe(false);
        }
      }),
    );
  });
});

describe('a comparison of a range', () => {
  const range = (from: number, to: number, at: number) => ({
    from: new Date(START + from),
    to: new Date(START + to),
    at: new Date(START + at),
  });

  it('judges each quarter that is whole in it, also those without events', () => {
    const judged = judgeRange([], [found({ matched: 3 })], range(-20 * MINUTE, 40 * MINUTE, HOUR), undefined);
    expect(judged.map(({ quarter, matched }) => [quarter.getTime() - START, matched])).toEqual([
      [-QUARTER_MS, 0],
      [0, 3],
      [QUARTER_MS, 0],
    ]);
  });

  it('counts of other quarters only what was fetched', () => {
    const judged = judgeRange([], [found({ matched: 3, onlyLog: 1 })], range(0, 5 * MINUTE, HOUR), undefined);
    expect(judged).toMatchObject([{ quarter, state: 'pending', healed: 1, agreedAt: null }]);
    expect(judgeRange([], [found({ matched: 3 })], range(0, 5 * MINUTE, HOUR), undefined)).toEqual([]);
    const proven = [after([HOUR], [8 * HOUR]), after([HOUR, { onlyLog: 1 }], [8 * HOUR])];
    const healed = proven.map((before) =>
      judgeRange(before ? [before] : [], [found({ onlyLog: 1 })], range(0, 5 * MINUTE, 9 * HOUR), undefined),
    );
    expect(healed).toMatchObject([[{ state: 'healed', healed: 1 }], [{ state: 'healed', healed: 2 }]]);
  });

  it('does not write a proven quarter again unless it changed', () => {
    const whole = after([HOUR], [8 * HOUR]);
    const before = whole === undefined ? [] : [whole];
    const again = range(0, QUARTER_MS, 10 * HOUR);
    expect(judgeRange(before, [], again, undefined)).toEqual([]);
    expect(judgeRange(before, [found({ onlyLog: 1 })], again, undefined)).toHaveLength(1);
  });
});

describe('the table', () => {
  const test = useDatabase();

  it('has a state to be proven for every message type with a history, and for no other', async () => {
    const since = new Date(Date.now() - HOUR);
    for (const messageType of CLOUD_TYPES) {
      await test.query`
        insert into subscriptions (source, message_type, url, application, status, created_at)
        values ('types', ${messageType}, '', '', 'ENABLED', ${since})`;
    }
    const read = await readQuarters(test.db, ALL_SOURCES, { since, until: new Date() });
    const pending = read.filter(({ state }) => state === 'pending').map((one) => one.message_type);
    expect(new Set(pending)).toEqual(new Set(LOGGED_TYPES));
    const rest = read.filter((one) => !pending.includes(one.message_type));
    expect(new Set(rest.map(({ state }) => state))).toEqual(new Set(['push only']));
    await test.query`delete from subscriptions where source = 'types'`;
  });

  it('keeps what comparisons have proven', async () => {
    const from = new Date(Math.floor(Date.now() / QUARTER_MS) * QUARTER_MS - 10 * HOUR);
    const to = new Date(from.getTime() + 4 * QUARTER_MS);
    const compare = (at: number, ...quarters: FoundQuarter[]) =>
      recordCoverage(test.db)('default', 'AUDIT_LOG_ALL', quarters, { from, to, at: new Date(at) });
    const states = async () => {
      const read = await readQuarters(test.db, ALL_SOURCES, { since: from, until: to });
      return read.map(({ state, healed }) => [state, healed]);
    };
    const second = new Date(from.getTime() + QUARTER_MS);
    await compare(to.getTime() + HOUR, found({ quarter: second, matched: 5, onlyLog: 2 }));
    expect(await states()).toEqual([
      ['pending', 0],
      ['pending', 2],
      ['pending', 0],
      ['pending', 0],
    ]);
    await compare(to.getTime() + HOUR + LATENESS_MS, found({ quarter: second, matched: 7 }));
    expect(await states()).toEqual([
      ['whole', 0],
      ['healed', 2],
      ['whole', 0],
      ['whole', 0],
    ]);
  });
});
