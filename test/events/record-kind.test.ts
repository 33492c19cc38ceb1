import { describe, expect, test } from 'vitest';
import {
  actionOfEvent,
  kindsNamed,
  outcomeOf,
  recordKind,
  severityOf,
  titleOf,
} from '../../src/events/record-kind.ts';
import { EVENT_OF_KIND, sampleEvent } from '../forward/formats/stored-events.ts';

const outcome = (event: (typeof EVENT_OF_KIND)['login']) => outcomeOf(recordKind(event), event);

describe('what a record tells of', () => {
  test.each(Object.entries(EVENT_OF_KIND))('%s', (kind, event) => {
    expect(recordKind(event)).toBe(kind);
  });

  test.each([
    [{ config: { a: 1 } }, 'configuration'],
    [{ hostNames: ['ap-1'] }, 'configuration'],
    [{ deviceIds: [11] }, 'configuration'],
    [{}, 'audit'],
  ])('an audit record of an unknown code with %j is %s', (members, kind) => {
    const none = { config: null, hostNames: [], deviceIds: null };
    expect(recordKind(sampleEvent('AUDIT_LOG_ALL', { code: 50_000, ...none, ...members }))).toBe(kind);
  });

  test.each([
    ['DELETE', 'gdprDeletion'],
    ['data erasure', 'gdprDeletion'],
    ['DATA_DOWNLOAD', 'gdprDownload'],
    ['NOT_DELETED', 'gdpr'],
    ['DELETE_DOWNLOAD', 'gdpr'],
    [null, 'gdpr'],
  ])('a GDPR record of category %j is %s', (category, kind) => {
    expect(recordKind(sampleEvent('GDPR_LOG_ALL', { category }))).toBe(kind);
  });

  test.each([
    ['COMPLETED', 'Personal data deletion completed', 'personal-data-deletion-completed'],
    ['IN_PROGRESS', 'Personal data deletion in progress', 'personal-data-deletion-in-progress'],
    ['Failed', 'Personal data deletion failed', 'personal-data-deletion-failed'],
    ['7', 'Personal data deletion', 'personal-data-deletion'],
  ])('a deletion with the status %s is "%s"', (status, name, action) => {
    const event = sampleEvent('GDPR_LOG_ALL', { status });
    expect(titleOf('gdprDeletion', outcome(event), event)).toBe(name);
    expect(actionOfEvent('gdprDeletion', outcome(event), event)).toBe(action);
  });

  test.each([
    ['login', ['login']],
    ['user-logged-in', ['login']],
    ['ppsk user created', ['ppskCreated']],
    ['e-mail-sent', ['email']],
    ['alert-of-a-rule', ['ruleAlert']],
    ['personal-data-deleted', ['gdprDeletion']],
  ])('the action %s means %s', (action, kinds) => {
    expect(kindsNamed(action, false)).toEqual(kinds);
  });

  test('a prefix means the actions and synonyms that begin with it', () => {
    expect(kindsNamed('network-', true)).toEqual([
      'authentication',
      'accountingStart',
      'accountingInterim',
      'accountingStop',
      'alert',
    ]);
  });

  test('an accounting record that reports no usage at all is no start', () => {
    const none = { acctStopTime: null, acctTerminateCause: null, acctSessionTime: null };
    const event = sampleEvent('ACCOUNTING_LOG_ALL', {
      ...none,
      acctInputOctets: null,
      acctOutputOctets: null,
    });
    expect(recordKind(event)).toBe('accountingInterim');
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
