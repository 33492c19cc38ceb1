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
import { MAX_OPEN_COUNT } from '../../src/store/quarantine/search-quarantine.ts';

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

const VERIFIED = { leaves: 10, altered: 0, missing: 0, since: ago(60), last: ago(1) };

const SEAL: SealFacts = {
  checkpoint: { madeAt: ago(1) },
  unsignedSince: undefined,
  verified: VERIFIED,
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
  lastDay: { deliveries: 1_340, events: 1 },
  systemPage: '/system',
  sealPage: '/integrity',
};

const answers = (facts: Partial<ServiceFacts> = {}) => answerQuestions({ ...WELL, ...facts });

test('a service without problems answers all four questions with yes', () => {
  for (const question of QUESTIONS) {
    expect(answers()[question]).toMatchObject({ status: { level: 'good', remedy: null }, needs: [] });
  }
  const { arriving, forwarded } = answers({ destinations: [SIEM, { ...SIEM, state: 'not configured' }] });
  expect(arriving.status.what).toMatch(/last delivery 1 min ago$/);
  expect(forwarded.status.what).toBe('up to date');
});

test('only rows that were compared are counted as such', () => {
  const figureOf = (last: Date | undefined) =>
    answers({ seal: { ...SEAL, verified: { ...VERIFIED, leaves: 8_192, last } } }).proven.figure;
  expect(figureOf(NOW)).toBe('8,192 rows compared');
  expect(figureOf(undefined)).toBeNull();
});

test('a service that is not set up yet is told what to do, and has no problem', () => {
  const { arriving, forwarded } = answers({ sums: [], destinations: [] });
  expect(arriving).toMatchObject({ status: { level: 'plain', word: 'nothing yet' }, needs: [] });
  expect(forwarded).toMatchObject({ status: { level: 'plain', word: 'not set up' }, needs: [] });
  for (const { status } of [arriving, forwarded]) expect(status.remedy).toEqual(expect.anything());
});

test('a check of arrival and one of storing each change the answer that they are about', () => {
  const found = answers({
    checks: [
      { name: 'queue', state: 'spooling', why: 'connect ECONNREFUSED' },
      { name: 'locks', state: 'waiting', why: '' },
      { name: 'locks: storing', state: 'waiting', why: 'a lock is held by psql' },
      { name: 'database', state: 'away', why: '' },
      { name: 'subscriptions (worker on a)', state: 'behind', why: '2 changes' },
      { name: 'forwarding: siem', state: 'refused', why: 'told by the destination itself' },
    ],
  });
  const spooling = {
    level: 'warn',
    word: 'queue spooling',
    what: 'queue: connect ECONNREFUSED',
    page: '/system',
  };
  expect(found.arriving.status).toMatchObject(spooling);
  expect(found.arriving.needs).toMatchObject([
    { ...spooling, remedy: expect.stringContaining("Check the queue's server") as unknown },
    {
      word: 'subscriptions behind',
      page: '/subscriptions',
      remedy: expect.stringContaining('apply') as unknown,
    },
  ]);
  expect(found.stored.needs).toMatchObject([
    { level: 'bad', word: 'database away', what: 'database: away', page: '/system' },
    { level: 'warn', word: 'locks waiting', what: 'locks: storing: a lock is held by psql' },
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
  expect(status.what).toContain('2 events deleted without a recorded reason');
  expect(needs).toHaveLength(2);
  const unbalanced = { ...SUM, addsUp: false, unbalanced: 1 };
  expect(answers({ sums: [unbalanced] }).stored.status).toMatchObject({
    page: '/quarantine',
    what: 'default AUDIT_LOG_ALL: 1 delivery with records that are neither stored nor in quarantine',
  });
  const all = answers({ sums: [{ ...gone, unbalanced: 2, altered: 1 }, SUM] }).stored.needs;
  expect(all.map(({ what }) => what.split(', ').length)).toEqual([3]);
  const unknown = answers({ sums: [{ ...SUM, addsUp: false }] }).stored.status;
  expect(unknown.what).toBe('default AUDIT_LOG_ALL: rows differ from the seal');
  const many = answers({ quarantine: { count: MAX_OPEN_COUNT + 1, oldestReceivedAt: null } });
  expect(many.stored.status.what).toBe('over 10,000 items open in quarantine');
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
  ['good', 'running', 'running, up to date', {}, undefined],
  ['warn', 'failing', 'running, up to date: timeout', { last_error: 'timeout', last_error_at: ago(1) }, 1],
  ['warn', 'behind', 'running, 5 events behind (6 min)', { behind: 5, behind_since: ago(6) }, 6],
  ['good', 'running', 'running, 1 event behind (5 min)', { behind: 1, behind_since: ago(5) }, undefined],
  ['warn', 'events rejected', 'running, up to date, 2 rejected events', { rejected: 2 }, undefined],
  ['warn', 'paused', 'paused, up to date', { state: 'paused', behind_since: ago(3) }, 3],
  [
    'bad',
    'refused',
    'refused, up to date: 401',
    { state: 'refused', last_error: '401', last_error_at: ago(2) },
    2,
  ],
  ['plain', 'not configured', 'not configured', { state: 'not configured', behind: null }, undefined],
  ['warn', 'not started', 'not started', { state: 'not started', behind: null }, undefined],
] as const)('a destination is %s and "%s": %s', (level, word, what, facts, minutes) => {
  const since = minutes === undefined ? null : ago(minutes);
  const status = statusOfDestination({ ...SIEM, ...facts }, NOW);
  expect(status).toMatchObject({ level, word, what, since, page: '/destinations/siem' });
  expect(status.remedy === null).toBe(level === 'good');
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
  ['good', 'sealed', {}, /^sealed up to 2026-03-01T11:59:00.000Z; .* compared since 2026-03-01T11:00/],
  ['plain', 'not sealed', { checkpoint: undefined }, /not sealed yet/],
  [
    'bad',
    'altered',
    { verified: { ...VERIFIED, altered: 1 } },
    /^0 rows missing and 1 altered of 10 leaves$/,
  ],
  ['bad', 'missing', { verified: { ...VERIFIED, altered: 1, missing: 1 } }, /^1 row missing and 1 altered/],
  ['warn', 'behind', { unsignedSince: ago(11) }, /since 2026-03-01T11:49:00.000Z are in no checkpoint/],
  // As a clock that was ahead made it.
  ['warn', 'behind', { checkpoint: { madeAt: ago(-1_000) }, unsignedSince: ago(11) }, /no checkpoint/],
  // No checkpoint was ever made of it.
  ['warn', 'behind', { checkpoint: undefined, unsignedSince: ago(11) }, /no checkpoint/],
  ['good', 'sealed', { unsignedSince: ago(10) }, /^sealed/],
  [
    'warn',
    'behind',
    { verified: { ...VERIFIED, last: ago(61) } },
    /no row was compared .* since 2026-03-01T10:59/,
  ],
  ['good', 'sealed', { verified: { ...VERIFIED, last: ago(60) } }, /^sealed/],
  ['good', 'sealed', { verified: { ...VERIFIED, since: undefined } }, /^sealed up to \S+Z$/],
  ['good', 'sealed', { checkpoint: { madeAt: ago(11) } }, /^sealed/],
  ['warn', 'not anchored', { anchors: [{ anchor: 'file', error: 'disk full' }] }, /; file: disk full$/],
  ['good', 'sealed', { anchors: [{ anchor: 'file', error: null }] }, /^sealed/],
] as const)('the seal is %s and "%s" with %j', (level, word, facts, what) => {
  const status = statusOfSeal({ ...SEAL, ...facts }, NOW);
  expect(status).toMatchObject({ level, word, what: expect.stringMatching(what) as unknown });
  expect(status.remedy === null).toBe(level === 'good');
});
