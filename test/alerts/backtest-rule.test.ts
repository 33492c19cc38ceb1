import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { alertRuleSchema, type AlertRule } from '../../src/alerts/alert-rule.ts';
import { backtestRule } from '../../src/alerts/backtest-rule.ts';
import { createEvaluator, longestQuiet } from '../../src/alerts/evaluate-rule.ts';
import type { Alert } from '../../src/alerts/rule-state.ts';
import type { Db } from '../../src/store/server/database.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { findEvents } from '../support/find-events.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { mulberry32 } from '../../emulator/random.ts';
import { runs } from '../support/runs.ts';
import { storeDeliveries } from '../support/actions.ts';
import { useDatabase } from '../support/use-database.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 2);
const DAYS = 4;
const EVENTS = 3_000;
const NOT_ABORTED = new AbortController().signal;

const test = useDatabase();
let db: Db;
let stored: readonly StoredEvent[];

beforeAll(async () => {
  db = test.service;
  const values = mulberry32(7);
  const pick = <T>(...from: readonly [T, ...T[]]): T => from[Math.floor(values() * from.length)] ?? from[0];
  const time = () => T0 + Math.floor(values() * DAYS * 1_440) * MINUTE;
  const mac = () => `00:00:5E:00:53:0${pick(1, 2, 3, 4, 5)}`;
  const audit = Array.from({ length: EVENTS / 3 }, () =>
    auditRecord({
      timeStamp: time(),
      id: String(values()),
      code: pick(10_001, 10_002, 40_001, 99_999),
      userName: pick('jane', 'Joe', 'K', null),
      description: pick('API token 50% created', 'Login failed', 'a_b', null, 'Key\\made'),
    }),
  );
  const authentications = Array.from({ length: EVENTS / 3 }, () => ({
    timeStamp: time(),
    id: String(values()),
    username: pick('jane', 'JOE', 'jim', undefined),
    callingStationId: mac(),
    reply: pick('Access-Accept', 'Access-Reject'),
  }));
  const places = Array.from({ length: EVENTS / 3 }, () => ({
    timeStamp: time(),
    clientMac: mac(),
    apMac: mac(),
    lat: 52 + values(),
    lng: 13,
  }));
  await storeDeliveries(
    db,
    queuedDelivery('AUDIT_LOG_ALL', audit),
    queuedDelivery('AUTHENTICATION_LOG_ALL', authentications),
    queuedDelivery('AUTHENTICATION_LOG_ALL', authentications.slice(0, 99), { source: 'other' }),
    queuedDelivery('LOCATION_AP_CENTRIC', places),
  );
  stored = await findEvents(db, ALL_SOURCES, {}, { limit: 2 * EVENTS, order: 'oldest' });
});

const rule = (given: object): AlertRule =>
  alertRuleSchema.parse({ name: 'test', title: 'Test', filter: {}, ...given });

const filters = fc.constantFrom<readonly object[]>(
  [{}],
  [{ families: ['audit'], users: ['J*'] }],
  [{ kinds: ['authentication'], outcome: 'failure' }],
  [{ kinds: ['login', 'ppskCreated'] }, { families: ['log'], where: { username: 'j*' } }],
  [{ where: { description: ['*50% *', 'A_B', '*\\*', '*fail*'] } }],
  [{ where: { time_of_day: 'weekday night' } }],
  [{ codes: [10_001] }, { families: ['location'] }],
  [{ message_types: ['SMS_LOG_ALL'] }],
);

const rules = fc
  .record({
    filter: filters,
    within: fc.constantFrom('10m', '1h', '7h', '1d'),
    group_by: fc.constantFrom(
      ['user_name'],
      ['client_mac'],
      ['message_type', 'time_of_day'],
      ['client_mac', 'username'],
      undefined,
    ),
    asked: fc.oneof(
      fc.record({ count: fc.integer({ min: 1, max: 12 }) }),
      fc.record({
        count: fc.integer({ min: 2, max: 5 }),
        distinct: fc.constantFrom('client_mac', 'user_name', 'time_of_day', 'code'),
      }),
      fc.record({ apart: fc.integer({ min: 10_000, max: 100_000 }), group_by: fc.constant(['client_mac']) }),
      fc.record({
        first_seen: fc.constant({ of: ['user_name'], within: '6h', learning: '1h' }),
        group_by: fc.constant(['client_mac']),
      }),
    ),
    more: fc.constantFrom({}, { hours: { from: '07:00', to: '19:00' } }),
  })
  .map(({ asked, more, ...given }) => rule({ ...given, ...asked, ...more }));

const PART = { since: T0 + 1_500 * MINUTE, until: T0 + 3_000 * MINUTE };
const ranges = fc.constantFrom({ since: T0, until: T0 + DAYS * 1_440 * MINUTE }, PART);

/** One person whose name is written in two ways comes to this number. */
const ACROSS_SPELLINGS = rule({ filter: [{}], count: 11, within: '1h', group_by: ['user_name'] });

async function backtest(given: AlertRule, since: number, until: number): Promise<readonly Alert[]> {
  const range = { since: new Date(since), until: new Date(until) };
  return Array.fromAsync(backtestRule(db, ALL_SOURCES, given, range, NOT_ABORTED));
}

describe('the backtest of a rule', () => {
  it('raises the alerts that all events in order of time raise', async () => {
    let raised = 0;
    await fc.assert(
      fc.asyncProperty(rules, ranges, async (given, { since, until }) => {
        const first = given.first_seen;
        const back = (given.within ?? 0) + longestQuiet(given) + (first ? first.within + first.learning : 0);
        const evaluator = createEvaluator(given);
        const whole = stored
          .filter(({ occurredAt }) => {
            const at = Date.parse(occurredAt);
            return at >= since - back && at < until;
          })
          .flatMap((event) => evaluator.evaluate(event))
          .filter(({ lastAt }) => Date.parse(lastAt) >= since);
        expect(await backtest(given, since, until)).toEqual(whole);
        raised += whole.length;
      }),
      { numRuns: runs(100), examples: [[ACROSS_SPELLINGS, PART]] },
    );
    expect(raised).toBeGreaterThan(100);
  });

  it('reads the events of groups alone in which enough came together', async () => {
    let read = 0;
    const many = rule({ count: 200, within: '3h', group_by: ['user_name'] });
    const range = { since: new Date(T0), until: new Date(T0 + DAYS * 1_440 * MINUTE) };
    const alerts = backtestRule(db, ALL_SOURCES, many, range, NOT_ABORTED, () => {
      read += 1;
    });
    expect(await Array.fromAsync(alerts)).toEqual([]);
    expect(read).toBe(0);
  });
});
