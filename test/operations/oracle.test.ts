import { expect, test } from 'vitest';
import type { Payload } from '../faults/payloads.ts';
import { countWrong } from './oracle.ts';
import { type Measured, wrongsOf } from './run-scenario.ts';

const audit: Payload = {
  messageType: 'AUDIT_LOG_ALL',
  body: '[{"userId":1,"code":10001},{"userId":2,"code":10002}]',
  numbers: [1, 2],
  isReadable: true,
};
const location: Payload = {
  messageType: 'LOCATION_AP_CENTRIC',
  body: '{"apMac":"a","observations":[{"clientMac":"3"},{"clientMac":"4"}]}',
  numbers: [3, 4],
  isReadable: true,
};
const sent = new Map([audit, location].flatMap((payload) => payload.numbers.map((one) => [one, payload])));

test('a row with its own record, of its own type, is right', () => {
  const events = [
    { number: 2, messageType: 'AUDIT_LOG_ALL', payload: { code: 10_002, userId: 2 } },
    {
      number: 4,
      messageType: 'LOCATION_AP_CENTRIC',
      payload: { apMac: 'a', observations: [{ clientMac: '4' }] },
    },
  ];
  expect(countWrong(events, sent)).toBe(0);
});

test.each([
  [
    'the record of another',
    { number: 1, messageType: 'AUDIT_LOG_ALL', payload: { userId: 2, code: 10_002 } },
  ],
  [
    'a member too many',
    { number: 1, messageType: 'AUDIT_LOG_ALL', payload: { userId: 1, code: 10_001, more: 1 } },
  ],
  ['another type', { number: 1, messageType: 'SMS_LOG', payload: { userId: 1, code: 10_001 } }],
  ['a number that nobody sent', { number: 9, messageType: 'AUDIT_LOG_ALL', payload: { userId: 9 } }],
  [
    'all observations',
    {
      number: 3,
      messageType: 'LOCATION_AP_CENTRIC',
      payload: { apMac: 'a', observations: [{ clientMac: '3' }, { clientMac: '4' }] },
    },
  ],
])('a row with %s is wrong', (_, event) => {
  expect(countWrong([event], sent)).toBe(1);
});

const measured = (overrides: Partial<Measured> = {}): Measured => ({
  sent: 100,
  acknowledged: 100,
  quarantined: 0,
  refused: {},
  unanswered: 0,
  silenceMs: 10,
  p99Ms: 5,
  lost: 0,
  doubled: 0,
  wrong: 0,
  stuck: 0,
  ...overrides,
});

test.each([
  [{ lost: 1 }, '1 lost'],
  [{ doubled: 2 }, '2 doubled'],
  [{ wrong: 3 }, '3 wrong'],
  [{ stuck: 4 }, '4 stuck'],
  [{ unanswered: 5 }, '5 unanswered'],
  [{ refused: { 502: 1, 503: 5 } }, '6 refused'],
  [{ acknowledged: 0 }, 'nothing was acknowledged'],
])('%o fails a scenario', (overrides, text) => {
  expect(wrongsOf({ refusesNone: true }, measured())).toEqual([]);
  expect(wrongsOf({ refusesNone: true }, measured(overrides))).toEqual([text]);
});

test('where losses are expected, none at all shows nothing', () => {
  expect(wrongsOf({ refusesNone: true, loses: true }, measured({ lost: 7 }))).toEqual([]);
  expect(wrongsOf({ refusesNone: true, loses: true }, measured())).toHaveLength(1);
});
