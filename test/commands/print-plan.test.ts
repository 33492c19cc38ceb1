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
    const [heading = '', ...lines] = stripVTControlCharacters(formatPlan('default', plan)).split('\n');
    expect(heading).toMatch(/^default: 1 to create, 1 to update, 1 to delete, 1 unchanged/);
    expect(lines).toEqual([
      expect.stringMatching(/^  EMAIL_LOG_ALL +9007199254740993$/),
      expect.stringMatching(/^\+ AUDIT_LOG_ALL +https:\/\/sink\.test\/ingest\/default\/AUDIT_LOG_ALL$/),
      expect.stringMatching(/^~ SMS_LOG_ALL +9007199254740993: .*status DISABLED -> ENABLED, .*, secret$/),
      expect.stringMatching(/^- SMS_LOG_ALL +\(id unknown\): duplicate/),
    ]);
  });

  it('says when it is compared with our own records, and what the cloud does not offer', () => {
    expect(formatPlan('default', { ...plan, comparedWith: 'records' })).toContain('does not list');
    const other: Plan = { ...plan, steps: [], notOffered: ['ALERT'] };
    expect(stripVTControlCharacters(formatPlan('default', other))).toMatch(/\n  ALERT +not offered/);
    expect(viewPlan('default', other)).toMatchObject({ in_order: true, not_offered: ['ALERT'] });
  });

  it('is the same as data', () => {
    const url = 'https://old.test/hook…';
    const sms = { message_type: 'SMS_LOG_ALL', url };
    const differences = [
      { member: 'url', from: url, to: desired.url },
      { member: 'status', from: 'DISABLED', to: 'ENABLED' },
      { member: 'application', from: '', to: 'xiq-sink' },
      { member: 'secret' },
    ];
    expect(viewPlan('default', plan)).toMatchObject({
      in_order: false,
      steps: [
        { action: 'keep', message_type: 'EMAIL_LOG_ALL', subscription_id: actual.id, url },
        { action: 'create', message_type: 'AUDIT_LOG_ALL', url: desired.url },
        { ...sms, action: 'update', subscription_id: actual.id, differences },
        { ...sms, action: 'delete', subscription_id: null, reason: 'duplicate' },
      ],
    });
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
