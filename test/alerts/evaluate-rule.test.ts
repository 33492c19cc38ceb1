import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alertRuleSchema, type AlertRule } from '../../src/alerts/alert-rule.ts';
import { createEvaluator } from '../../src/alerts/evaluate-rule.ts';
import type { Alert } from '../../src/alerts/rule-state.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';
import { storedEvent } from '../forward/formats/stored-events.ts';
import { runInParts } from './run-in-parts.ts';

const T0 = Date.UTC(2026, 2, 2, 9);

const rule = (given: object): AlertRule =>
  alertRuleSchema.parse({ name: 'test', title: 'Test', filter: {}, ...given });

/** To make it anew for each of 100,000 events takes seconds. */
const TEMPLATE = storedEvent('AUDIT_LOG_ALL', {});

let number = 0;
const login = (
  minute: number,
  columns: StoredEvent['columns'] = {},
  more: Partial<StoredEvent> = {},
): StoredEvent => {
  number += 1;
  return {
    ...TEMPLATE,
    eventId: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    occurredAt: new Date(T0 + minute * 60_000).toISOString(),
    columns: { code: '10001', user_name: 'jane', description: 'User jane logged in', ...columns },
    ...more,
  };
};

const loginsAt = (minutes: readonly number[]) => minutes.map((minute) => login(minute));

const run = (given: AlertRule, events: readonly StoredEvent[]): readonly Alert[] => {
  const evaluator = createEvaluator(given);
  return events.flatMap((event) => evaluator.evaluate(event));
};

describe('a rule', () => {
  it('raises an alert for each event that matches', () => {
    const alerts = run(
      rule({ filter: { codes: [10_001], where: { user_name: ['*@example.com', 'JA*'] } } }),
      [
        login(0),
        login(1, { user_name: 'joe' }),
        login(2, { code: '10002' }),
        login(3, { user_name: 'x@example.com' }),
      ],
    );
    expect(alerts).toMatchObject([
      { rule: 'test', severity: 'medium', count: 1, firstAt: '2026-03-02T09:00:00.000Z' },
      { lastAt: '2026-03-02T09:03:00.000Z' },
    ]);
  });

  it('does not count what is excepted', () => {
    const others = rule({ except: { users: ['scanner*'] } });
    expect(run(others, [login(0), login(1, { user_name: 'Scanner 7' })])).toHaveLength(1);
  });

  it('matches one of several filters', () => {
    const both = rule({ filter: [{ where: { code: '40001' } }, { kinds: ['logout'], outcome: 'success' }] });
    const events = [login(0, { code: '40001' }), login(1, { code: '10002' }), login(2)];
    expect(run(both, events)).toHaveLength(2);
  });

  it('counts events of a group in a time span, and is quiet about those that follow', () => {
    const burst = rule({ count: 3, within: '10m', group_by: ['user_name'] });
    const jane = loginsAt([0, 4, 11, 12, 13, 14, 30, 31, 32]);
    const joe = [1, 2].map((minute) => login(minute, { user_name: 'joe' }));
    const alerts = run(burst, [...jane, ...joe]);
    expect(alerts.map(({ lastAt, count, group }) => [lastAt.slice(11, 16), count, group])).toEqual([
      ['09:12', 3, { user_name: 'jane' }],
      ['09:32', 3, { user_name: 'jane' }],
    ]);
    expect(alerts[0]?.causes.map(({ occurredAt }) => occurredAt.slice(14, 16))).toEqual(['04', '11', '12']);
  });

  it('counts a person once, however their name is written, also in what it remembers from before', () => {
    const names = ['müller', 'MÜLLER', 'mu\u0308ller', 'Ｍüller'];
    const events = names.map((user_name, minute) => login(minute, { user_name }));
    const burst = rule({ count: 4, within: '10m', group_by: ['user_name'] });
    expect(run(burst, events)).toMatchObject([{ count: 4, group: { user_name: 'Ｍüller' } }]);
    expect(run(rule({ count: 2, within: '10m', distinct: 'user_name' }), events)).toEqual([]);
    const causes = [0, 1, 2].map((minute) => ({ at: T0 + minute, id: `${minute}` }));
    const evaluator = createEvaluator(burst, [['["default","MÜLLER"]', { causes }]]);
    expect(evaluator.evaluate(login(1, { user_name: 'MÜLLER' }))).toMatchObject([{ count: 4 }]);
  });

  it('forgets the group of a source that it saw longest ago beyond 100,000, and no other source for it', () => {
    const burst = rule({ count: 2, within: '10m', group_by: ['user_name'] });
    const forged = Array.from({ length: 100_000 }, (_, n) =>
      login(1, { user_name: `${n}` }, { source: 'a' }),
    );
    const first = [login(0), login(0, {}, { source: 'a' })];
    const again = [login(2, {}, { source: 'a' }), login(2)];
    expect(run(burst, [...first, ...forged, ...again]).map(({ source }) => source)).toEqual(['default']);
  });

  it('does not compare each event with each, whatever times a sender gives them', () => {
    const burst = rule({ count: 2_000, within: '1h' });
    const at = (minute: number, count: number) => loginsAt(Array<number>(count).fill(minute));
    expect(run(burst, [...at(0, 1_000), ...at(100, 1_000), ...at(50, 999)])).toEqual([]);
    expect(run(burst, [...at(0, 1_000), ...at(100, 1_000), ...at(50, 1_000)])).toMatchObject([
      { count: 2_000 },
    ]);
  }, 10_000);

  it('takes what goes on for one alert, and raises it again after a day', () => {
    const burst = rule({ count: 3, within: '10m' });
    const minutes = Array.from({ length: 360 }, (_, number) => number * 4.5);
    expect(run(burst, loginsAt(minutes)).map(({ lastAt }) => lastAt.slice(0, 16))).toEqual([
      '2026-03-02T09:09',
      '2026-03-03T09:22',
    ]);
  });

  it('counts what claims to be of the future or of 1970 without harm to what comes then, of any source', () => {
    const burst = rule({ count: 3, within: '1m', group_by: ['user_name'] });
    const first = rule({
      group_by: ['user_name'],
      first_seen: { of: ['client_mac'], within: '1h', learning: '30m' },
    });
    const from = (source: string, minute: number, columns = {}): StoredEvent => {
      const event = login(minute, columns);
      return { ...event, source, receivedAt: event.occurredAt };
    };
    const hostile = (minute: number, occurredAt: string): StoredEvent => ({
      ...from('a', minute),
      occurredAt,
    });
    for (const time of ['2090-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z', '0001-01-01T00:00:00.000Z']) {
      const attacked = (of: AlertRule, events: readonly StoredEvent[]) =>
        run(
          of,
          events.flatMap((event, n) => [event, hostile(n / 10 + 0.01, time)].slice(0, n === 1 ? 2 : 1)),
        );
      const logins = ['a', 'b'].flatMap((source) => [0, 0.1, 0.2, 0.3].map((minute) => from(source, minute)));
      const raised = attacked(burst, logins);
      expect(raised.map(({ source }) => source)).toEqual(['a', 'b']);
      const own = raised[0]?.causes.map(({ occurredAt }) => occurredAt);
      expect(own?.includes(time)).toBe(time.startsWith('2090'));
      expect(raised[0]?.lastAt.slice(0, 10)).toBe('2026-03-02');
      // A group is not known since then, and the next new value is found.
      const macs = ['1', '1', '2', '1', '3'].map((mac, n) => from('a', n * 9, { client_mac: mac }));
      expect(attacked(first, macs).map(({ lastAt }) => lastAt)).toEqual(
        run(first, macs).map(({ lastAt }) => lastAt),
      );
      expect(run(first, macs)).toHaveLength(1);
    }
  });

  it('keeps the sources apart, and leaves out events without a value of the group', () => {
    const burst = rule({ count: 2, within: '10m', group_by: ['user_name'] });
    const other = login(1, {}, { source: 'other' });
    expect(
      run(burst, [login(0), other, login(2, { user_name: null }), login(3, { user_name: null })]),
    ).toEqual([]);
  });

  it('finds one client at two far places', () => {
    const apart = rule({ apart: 50_000, within: '30m', group_by: ['client_mac'] });
    const at = (minute: number, lat: string, lng: string) => login(minute, { client_mac: 'a', lat, lng });
    // Berlin, Potsdam (27 km), Hamburg (255 km).
    const [berlin, potsdam, hamburg] = [
      ['52.52', '13.405'],
      ['52.39', '13.06'],
      ['53.55', '9.99'],
    ] as const;
    expect(run(apart, [at(0, ...berlin), at(10, ...potsdam), at(60, ...hamburg)])).toEqual([]);
    const alerts = run(apart, [at(0, ...berlin), at(10, ...potsdam), at(20, ...hamburg)]);
    expect(alerts).toMatchObject([{ count: 2, firstAt: '2026-03-02T09:00:00.000Z' }]);
  });

  it('looks at events outside of the usual hours alone, in its time zone', () => {
    const late = rule({ hours: { from: '07:00', to: '19:00' }, time_zone: 'Europe/Berlin' });
    // Monday 09:00 UTC is 10:00 in Berlin; the switch to summer time is on 29 March.
    const minutes = [0, 8 * 60 + 59, 9 * 60, -180, -181, 5 * 1440];
    expect(run(late, loginsAt(minutes)).map(({ firstAt }) => firstAt)).toEqual([
      '2026-03-02T18:00:00.000Z',
      '2026-03-02T05:59:00.000Z',
      '2026-03-07T09:00:00.000Z',
    ]);
    const night = rule({ hours: { from: '22:00', to: '06:00', days: ['mon'] } });
    expect(run(night, [login(0), login(13 * 60)])).toHaveLength(1);
  });

  it('finds what a group did not have before, once it is known', () => {
    const day = 1_440;
    const first = rule({
      group_by: ['user_name'],
      first_seen: { of: ['time_of_day'], within: '30d', learning: '7d' },
    });
    // The next one is at night: 22:00.
    const minutes = [0, day, 3 * day + 60, 8 * day, 8 * day + 780, 9 * day + 780, 9 * day + 781, 60 * day];
    expect(run(first, loginsAt(minutes)).map(({ firstAt }) => firstAt.slice(0, 13))).toEqual([
      '2026-03-10T22',
      '2026-05-01T09',
    ]);
  });

  it('remembers 1,000 values of a group, and forgets those seen longest ago', () => {
    const first = rule({ first_seen: { of: ['client_mac'], within: '30d', learning: '1m' } });
    const seen = (mac: number, minute: number) => login(minute, { client_mac: String(mac) });
    const values = Array.from({ length: 1_001 }, (_, mac) => seen(mac, 2 + mac / 1_000));
    const evaluator = createEvaluator(first);
    const raised = (event: StoredEvent) => evaluator.evaluate(event).length;
    for (const event of [login(0, { client_mac: 'x' }), ...values]) raised(event);
    expect([1, 1_000, 0].map((mac, at) => raised(seen(mac, 10 + at)))).toEqual([0, 0, 1]);
  });

  it('names the latest 100 of the events that caused an alert', () => {
    const [alert] = run(
      rule({ count: 150, within: '10h' }),
      loginsAt(Array.from({ length: 150 }, (_, n) => n)),
    );
    expect([alert?.count, alert?.causes.length]).toEqual([150, 100]);
    expect(alert?.causes.at(0)?.occurredAt).toBe('2026-03-02T09:50:00.000Z');
  });

  it('finds nothing new in an event that lacks one of the values', () => {
    const first = rule({
      group_by: ['user_name'],
      first_seen: { of: ['client_mac', 'ap_mac'], within: '30d', learning: '7d' },
    });
    const at = (day: number, client_mac: string, ap_mac: string | null) =>
      login(day * 1_440, { client_mac, ap_mac });
    expect(run(first, [at(0, 'a', '1'), at(8, 'b', null), at(9, 'b', '1')])).toMatchObject([
      { firstAt: '2026-03-11T09:00:00.000Z' },
    ]);
  });
});

/** Times and users of events, in the order of arrival: mostly by time. */
const arrivals = fc
  .array(
    fc.record({
      minute: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1_440, max: 1_640 })),
      late: fc.integer({ min: 0, max: 5 }),
      user: fc.constantFrom('a', 'b'),
      mac: fc.constantFrom('1', '2', '3'),
    }),
    { maxLength: 60 },
  )
  .map((list) =>
    list
      .toSorted((a, b) => a.minute - b.minute)
      .map(({ minute, late, user, mac }) => login(minute - late, { user_name: user, client_mac: mac })),
  );

/** A rule on counts, naively: all events of a group since the last alert. */
function naive(given: AlertRule, events: readonly StoredEvent[]): string[] {
  const found: string[] = [];
  const groups = new Map<string, { past: { at: number; value: unknown }[]; quiet: number; raised: number }>();
  for (const { columns, occurredAt, eventId } of events) {
    const key = String(columns['user_name']);
    const group = groups.get(key) ?? { past: [], quiet: -Infinity, raised: -Infinity };
    groups.set(key, group);
    const at = Date.parse(occurredAt);
    const within = given.within ?? 0;
    if (at <= group.quiet) {
      group.quiet = Math.min(Math.max(group.quiet, at + within), group.raised + 24 * 3_600_000);
      continue;
    }
    const value = given.distinct === undefined ? eventId : columns['client_mac'];
    group.past.push({ at, value });
    const isMet = group.past.some(
      ({ at: from }) =>
        from <= at &&
        at - from < within &&
        new Set(group.past.filter((one) => one.at >= from && one.at - from < within).map((one) => one.value))
          .size >= given.count,
    );
    if (!isMet) continue;
    found.push(eventId);
    groups.set(key, { past: [], quiet: at + within, raised: at });
  }
  return found;
}

describe('evaluation', () => {
  const rules = fc
    .record({
      count: fc.integer({ min: 2, max: 3 }),
      within: fc.constantFrom('5m', '20m', '1h'),
      distinct: fc.constantFrom(undefined, 'client_mac'),
    })
    .map((given) => rule({ ...given, group_by: ['user_name'] }));

  it('finds what a naive evaluation finds', () => {
    fc.assert(
      fc.property(rules, arrivals, (given, events) => {
        const evaluator = createEvaluator(given);
        const found = events.filter((event) => evaluator.evaluate(event).length > 0);
        expect(found.map(({ eventId }) => eventId)).toEqual(naive(given, events));
      }),
      { numRuns: 250 },
    );
  });

  it('continues from saved states as if it had not stopped', () => {
    const anyRule = fc.oneof(
      rules,
      fc.constant(
        rule({ group_by: ['user_name'], first_seen: { of: ['client_mac'], within: '1h', learning: '10m' } }),
      ),
    );
    fc.assert(
      fc.property(anyRule, arrivals, fc.integer({ min: 1, max: 10 }), (given, events, every) => {
        expect(runInParts(given, events, every)).toEqual(run(given, events));
      }),
      { numRuns: 400 },
    );
  });

  it('remembers little', () => {
    const many = rule({ count: 100, within: '10m', group_by: ['user_name'] });
    const evaluator = createEvaluator(many);
    let most = 0;
    for (let minute = 0; minute < 5_000; minute += 1) {
      evaluator.evaluate(login(minute, { user_name: `user ${minute % 50}` }));
      for (const state of evaluator.takeChanged().values()) most = Math.max(most, state?.causes.length ?? 0);
    }
    expect(most).toBeLessThan(20);
  });
});
