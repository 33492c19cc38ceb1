import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatPlan } from '../../src/commands/subscribe/subscribe.ts';
import { displayForeignUrl, displayUrl, viewPlan } from '../../src/subscribe/plan-view.ts';
import type { Plan } from '../../src/subscribe/subscriber.ts';

const desired = {
  application: 'xiq-sink',
  url: 'https://sink.test/ingest/default/AUDIT_LOG_ALL',
  secret: 'the-new-secret',
  messageType: 'AUDIT_LOG_ALL',
  status: 'ENABLED',
} as const;

const actual = {
  id: '9007199254740993',
  application: 'xiq-sink',
  url: 'https://me:pass@old.test/hook?token=t0ken',
  messageType: 'SMS_LOG_ALL',
  status: 'DISABLED',
  secretDigest: 'd1gest',
};

const plan: Plan = {
  comparedWith: 'cloud',
  notOffered: [],
  steps: [
    { action: 'keep', actual: { ...actual, messageType: 'EMAIL_LOG_ALL' } },
    { action: 'create', desired },
    {
      action: 'update',
      actual,
      desired,
      differences: [
        { member: 'url', from: actual.url, to: desired.url },
        { member: 'status', from: 'DISABLED', to: 'ENABLED' },
        { member: 'application', from: '', to: 'xiq-sink' },
        { member: 'secret' },
      ],
    },
    { action: 'delete', actual: { ...actual, id: undefined }, reason: 'duplicate' },
  ],
};

describe('a plan', () => {
  it('reads like a diff, headed by its counts', () => {
    expect(stripVTControlCharacters(formatPlan('default', plan)).split('\n')).toEqual([
      'default: 1 to create, 1 to update, 1 to delete, 1 unchanged',
      '  EMAIL_LOG_ALL           9007199254740993',
      '+ AUDIT_LOG_ALL           https://sink.test/ingest/default/AUDIT_LOG_ALL',
      '~ SMS_LOG_ALL             9007199254740993: url https://old.test/hook… -> https://sink.test/ingest/default/AUDIT_LOG_ALL, status DISABLED -> ENABLED, application (none) -> xiq-sink, secret',
      '- SMS_LOG_ALL             (id unknown): duplicate, https://old.test/hook…',
    ]);
  });

  it('says when it is compared with our own records', () => {
    expect(formatPlan('default', { ...plan, comparedWith: 'records' })).toContain(
      'does not list subscriptions',
    );
  });

  it('names what the cloud does not offer', () => {
    const lines = formatPlan('default', { ...plan, steps: [], notOffered: ['ALERT'] }).split('\n');
    expect(stripVTControlCharacters(lines[1] ?? '')).toBe(
      '  ALERT                   not offered by this cloud',
    );
    expect(viewPlan('default', { ...plan, steps: [], notOffered: ['ALERT'] })).toMatchObject({
      in_order: true,
      not_offered: ['ALERT'],
    });
  });

  it('is the same as data', () => {
    const url = 'https://old.test/hook…';
    expect(viewPlan('default', plan)).toEqual({
      source: 'default',
      compared_with: 'cloud',
      in_order: false,
      not_offered: [],
      steps: [
        { action: 'keep', message_type: 'EMAIL_LOG_ALL', subscription_id: actual.id, url },
        { action: 'create', message_type: 'AUDIT_LOG_ALL', url: desired.url },
        {
          action: 'update',
          message_type: 'SMS_LOG_ALL',
          subscription_id: actual.id,
          url,
          differences: [
            { member: 'url', from: url, to: desired.url },
            { member: 'status', from: 'DISABLED', to: 'ENABLED' },
            { member: 'application', from: '', to: 'xiq-sink' },
            { member: 'secret' },
          ],
        },
        { action: 'delete', message_type: 'SMS_LOG_ALL', subscription_id: null, url, reason: 'duplicate' },
      ],
    });
    expect(viewPlan('default', { ...plan, steps: [] })).toMatchObject({ in_order: true });
  });

  it('shows no secret in either form, nor one inside a url', () => {
    const shown = formatPlan('default', plan) + JSON.stringify(viewPlan('default', plan));
    for (const secret of [desired.secret, actual.secretDigest, 'me:pass', 't0ken'])
      expect(shown).not.toContain(secret);
  });
});

describe('a url of the cloud', () => {
  it('is shown as it is when it holds nothing but an address', () => {
    expect(displayUrl('https://sink.test')).toBe('https://sink.test');
    expect(displayUrl('')).toBe('');
    expect(displayUrl('s3cret')).toBe('(not a URL)');
  });

  it('of another application is cut behind its host', () => {
    expect(displayForeignUrl('https://me:pass@hooks.test/services/s3cret?x')).toBe('https://hooks.test/…');
    expect(displayForeignUrl('s3cret')).toBe('(not a URL)');
  });
});
