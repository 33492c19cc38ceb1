import { expect, test } from 'vitest';
import { describeHealth } from '../../../src/console/overview/read-overview.ts';

const balanced = { adds_up: true };

test('where every check is well, one sentence says so and there is no reason', () => {
  const checks = [
    { name: 'queue', state: 'ok', why: '' },
    { name: 'forwarding', state: 'unknown', why: 'the database does not say' },
  ];
  const health = describeHealth({ status: 'ok', checks }, balanced);
  expect(health).toMatchObject({ status: 'ok', reasons: [] });
  expect(health.sentence).toContain('Running normally');
});

test('each thing to mend stands once, with the page that mends it', () => {
  const checks = [
    { name: 'queue', state: 'spooling', why: 'connect ECONNREFUSED' },
    { name: 'forwarding', state: 'behind', why: '' },
    { name: 'forwarding: siem', state: 'behind', why: '5 events to send' },
    { name: 'forwarding: archive', state: 'ok', why: '' },
    { name: 'silence', state: 'unusually quiet', why: '' },
    { name: 'silence: default AUDIT_LOG_ALL', state: 'unusually quiet', why: 'last received yesterday' },
  ];
  const health = describeHealth({ status: 'degraded', checks }, balanced);
  expect(health.sentence).toContain('3 warnings');
  expect(health.reasons).toEqual([
    { what: 'queue: spooling', why: 'connect ECONNREFUSED', page: '/settings' },
    { what: 'forwarding: siem: behind', why: '5 events to send', page: '/destinations' },
    {
      what: 'silence: default AUDIT_LOG_ALL: unusually quiet',
      why: 'last received yesterday',
      page: '/subscriptions',
    },
  ]);
});

test('counts that do not add up make a service degraded whose checks are all well', () => {
  const health = describeHealth({ status: 'ok', checks: [] }, { adds_up: false });
  expect(health.status).toBe('degraded');
  expect(health.reasons).toMatchObject([{ what: 'conservation: does not add up', page: '/quarantine' }]);
});

test('what cannot work says so', () => {
  const checks = [{ name: 'database', state: 'away', why: 'connect ECONNREFUSED' }];
  const health = describeHealth({ status: 'unavailable', checks }, null);
  expect(health).toMatchObject({
    status: 'unavailable',
    sentence: 'Not working: 1 problem.',
    reasons: [{ what: 'database: away' }],
  });
});
