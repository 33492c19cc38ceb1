import { describe, expect, test } from 'vitest';
import { outcomeOf, recordKind, severityOf } from '../../../src/forward/formats/record-kind.ts';
import { EVENT_OF_KIND, sampleEvent } from './stored-events.ts';

const outcome = (event: (typeof EVENT_OF_KIND)['login']) => outcomeOf(recordKind(event), event);

describe('what a record tells of', () => {
  test.each(Object.entries(EVENT_OF_KIND))('%s', (kind, event) => {
    expect(recordKind(event)).toBe(kind);
  });

  test('an audit record without a code is a change of the configuration', () => {
    expect(recordKind(sampleEvent('AUDIT_LOG_ALL', { code: null }))).toBe('configuration');
  });

  test('an accounting record that says why it ended is a stop, with or without a time', () => {
    const event = sampleEvent('ACCOUNTING_LOG_ALL', { acctStopTime: 0, acctTerminateCause: 'Idle-Timeout' });
    expect(recordKind(event)).toBe('accountingStop');
  });
});

describe('how it ended', () => {
  test.each([
    ['AUTHENTICATION_LOG_ALL', { reply: 'Access-Accept', rejectReason: null }, 'success'],
    ['AUTHENTICATION_LOG_ALL', { reply: 'ACCESS-REJECT', rejectReason: null }, 'failure'],
    ['AUTHENTICATION_LOG_ALL', { reply: null, rejectReason: 'Wrong password' }, 'failure'],
    ['AUTHENTICATION_LOG_ALL', { reply: null, rejectReason: null }, 'unknown'],
    ['SMS_LOG_ALL', { status: 'SEND_OUT' }, 'unknown'],
    ['SMS_LOG_ALL', { status: 'COMPLETE' }, 'success'],
    ['EMAIL_LOG_ALL', { status: 'FAIL' }, 'failure'],
    ['AUDIT_LOG_ALL', { code: 10_001 }, 'success'],
    ['AUDIT_LOG_ALL', { code: 50_000 }, 'unknown'],
    ['ACCOUNTING_LOG_ALL', {}, 'unknown'],
  ] as const)('%s %o: %s', (messageType, record, expected) => {
    expect(outcome(sampleEvent(messageType, record))).toBe(expected);
  });

  test('a failed authentication weighs more', () => {
    const { authentication, email } = EVENT_OF_KIND;
    expect(severityOf('authentication', 'failure', authentication)).toBe(6);
    expect(severityOf('authentication', 'unknown', authentication)).toBe(3);
    expect(severityOf('email', 'failure', email)).toBe(1);
  });

  test.each([
    [1, 9],
    [2, 6],
    [3, 3],
    [null, 5],
    [7, 5],
  ])('an alert of severity %j weighs %i', (severityId, expected) => {
    expect(severityOf('alert', 'unknown', sampleEvent('ALERT', { severityId }))).toBe(expected);
  });
});
