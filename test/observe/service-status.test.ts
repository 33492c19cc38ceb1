import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerQuestions, QUESTIONS, type ServiceFacts } from '../../src/observe/service-status.ts';
import {
  statusOfDestination,
  statusOfSeal,
  type DestinationFacts,
  type SealFacts,
} from '../../src/observe/status.ts';
import type { ArrivalSum } from '../../src/store/counts/read-arrivals.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

const SUM: ArrivalSum = {
  source: 'default',
  messageType: 'AUDIT_LOG_ALL',
  deliveries: 3,
  expected: 3,
  events: 3,
  duplicates: 0,
  quarantined: 0,
  unbalanced: 0,
  missing: 0,
  altered: 0,
  addsUp: true,
  lastReceivedAt: ago(1),
};

const SIEM: DestinationFacts = {
  name: 'siem',
  state: 'running',
  behind: 0,
  behind_since: null,
  rejected: 0,
  last_error: null,
  last_error_at: null,
};

const SEAL: SealFacts = {
  checkpoint: { madeAt: ago(1) },
  unsignedSince: undefined,
  verified: { leaves: 10, altered: 0, missing: 0, since: ago(60), last: ago(1) },
  anchors: [],
};

const WELL: ServiceFacts = {
  now: NOW,
  checks: [
    { name: 'queue', state: 'ok', why: '' },
    { name: 'forwarding', state: 'unknown', why: 'the database does not answer' },
  ],
  sums: [SUM],
  silences: [],
  quarantine: { count: 0, oldestReceivedAt: null },
  destinations: [SIEM],
  seal: SEAL,
  systemPage: '/system',
  sealPage: '/integrity',
};

const answers = (facts: Partial<ServiceFacts> = {}) => answerQuestions({ ...WELL, ...facts });

test('a service without problems answers all four questions with yes', () => {
  for (const question of QUESTIONS) {
    expect(answers()[question]).toMatchObject({ status: { level: 'good', remedy: null }, needs: [] });
  }
});

test('a check of arrival and one of storing each change the answer that they are about', () => {
  const found = answers({
    checks: [
      { name: 'queue', state: 'spooling', why: 'connect ECONNREFUSED' },
      { name: 'locks', state: 'waiting', why: '' },
      { name: 'locks: storing', state: 'waiting', why: 'a lock is held by psql' },
    ],
  });
  expect(found.arriving.status).toMatchObject({ level: 'warn', word: 'queue spooling', page: '/system' });
  expect(found.stored.needs).toMatchObject([
    { word: 'locks waiting', what: 'locks: storing: a lock is held by psql' },
  ]);
  expect(found.forwarded.status.level).toBe('good');
});

test('an open item in quarantine is a warning, with its age and its page', () => {
  const { status } = answers({ quarantine: { count: 1, oldestReceivedAt: ago(90) } }).stored;
  expect(status).toMatchObject({
    level: 'warn',
    what: '1 item open in quarantine',
    since: ago(90),
    page: '/quarantine',
  });
});

test('counts that do not add up come before a warning, and lead to where the rows are', () => {
  const quarantine = { count: 1, oldestReceivedAt: ago(90) };
  const gone = { ...SUM, addsUp: false, missing: 2 };
  const { status, needs } = answers({ quarantine, sums: [gone] }).stored;
  expect(status).toMatchObject({ level: 'bad', word: 'does not add up', page: '/integrity' });
  expect(status.what).toContain('2 events deleted without a reason on record');
  expect(needs).toHaveLength(2);
  const unbalanced = { ...SUM, addsUp: false, unbalanced: 1 };
  expect(answers({ sums: [unbalanced] }).stored.status).toMatchObject({ page: '/quarantine' });
});

test('what no webhook has delivered is no delivery', () => {
  const { status } = answers({ sums: [{ ...SUM, lastReceivedAt: null }] }).arriving;
  expect(status).toMatchObject({ word: 'nothing yet' });
});

test('an unusual silence is a warning since the last arrival', () => {
  const silence = {
    source: 'default',
    messageType: 'SMS_LOG_ALL',
    lastReceivedAt: ago(180),
    state: 'unusual',
    sentence: 'nothing for 3 h',
  };
  expect(answers({ silences: [silence, { ...silence, state: 'usual' }] }).arriving.needs).toMatchObject([
    { word: 'unusually quiet', what: 'SMS_LOG_ALL from default: nothing for 3 h', since: ago(180) },
  ]);
});

test('what cannot be read is unknown, not good', () => {
  const found = answers({ sums: null, destinations: null, seal: null, quarantine: null, silences: null });
  for (const question of QUESTIONS) expect(found[question].status).toMatchObject({ word: 'unknown' });
});

test.each([
  ['good', 'running', {}],
  ['warn', 'failing', { last_error: 'timeout', last_error_at: ago(1) }],
  ['warn', 'behind', { behind: 5, behind_since: ago(6) }],
  ['good', 'running', { behind: 5, behind_since: ago(4) }],
  ['warn', 'events rejected', { rejected: 2 }],
  ['warn', 'paused', { state: 'paused' }],
  ['bad', 'refused', { state: 'refused', last_error: 'answered 401' }],
  ['plain', 'not configured', { state: 'not configured', behind: null }],
] as const)('a destination is %s and "%s"', (level, word, facts) => {
  expect(statusOfDestination({ ...SIEM, ...facts }, NOW)).toMatchObject({ level, word });
});

test('the overview has the status of the worst destination, whatever their order', () => {
  const state = fc.constantFrom('running', 'paused', 'refused', 'not configured');
  fc.assert(
    fc.property(fc.array(state, { maxLength: 6 }), (states) => {
      const destinations = states.map((one, index) => ({ ...SIEM, name: `d${index}`, state: one }));
      const levels = new Set(destinations.map((one) => statusOfDestination(one, NOW).level));
      const worst = (['bad', 'warn', 'good'] as const).find((level) => levels.has(level)) ?? 'plain';
      expect(answers({ destinations }).forwarded.status.level).toBe(worst);
    }),
  );
});

test.each([
  ['good', 'sealed', {}],
  ['plain', 'not sealed', { checkpoint: undefined }],
  ['bad', 'altered', { verified: { leaves: 10, altered: 1, missing: 0, since: ago(60), last: ago(1) } }],
  ['bad', 'missing', { verified: { leaves: 10, altered: 1, missing: 1, since: ago(60), last: ago(1) } }],
  ['warn', 'behind', { unsignedSince: ago(11) }],
  // As a clock that was ahead made it.
  ['warn', 'behind', { checkpoint: { madeAt: ago(-1_000) }, unsignedSince: ago(11) }],
  // No checkpoint was ever made of it.
  ['warn', 'behind', { checkpoint: undefined, unsignedSince: ago(11) }],
  ['good', 'sealed', { unsignedSince: ago(9) }],
  ['warn', 'behind', { verified: { leaves: 10, altered: 0, missing: 0, since: ago(90), last: ago(61) } }],
  ['good', 'sealed', { verified: { leaves: 10, altered: 0, missing: 0, since: ago(90), last: ago(59) } }],
  ['good', 'sealed', { checkpoint: { madeAt: ago(11) } }],
  ['warn', 'not anchored', { anchors: [{ anchor: 'file', error: 'disk full' }] }],
] as const)('the seal is %s and "%s"', (level, word, facts) => {
  expect(statusOfSeal({ ...SEAL, ...facts }, NOW)).toMatchObject({ level, word });
});
