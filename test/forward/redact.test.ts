import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFormat, FORMAT_NAMES } from '../../src/forward/formats/formats.ts';
import { createRedaction } from '../../src/forward/redact.ts';
import { DEFAULT_REDACTION_RULES, redactionRulesSchema } from '../../src/forward/redaction-rules.ts';
import { EVENTS, sampleEvent, storedEvent } from './formats/stored-events.ts';

const redact = createRedaction(DEFAULT_REDACTION_RULES);
const hide = (text: string) =>
  redact(sampleEvent('AUDIT_LOG_ALL', { description: text })).columns['description'];

describe('what a text gives away', () => {
  test.each([
    [
      'Cloud PPSK user bob was created with password Tr0ub4dor&3',
      'Cloud PPSK user bob was created with password [redacted]',
    ],
    ['password: Tr0ub4dor&3', 'password: [redacted]'],
    ['Password = "two words"; user bob', 'Password = [redacted]; user bob'],
    ["wifi_password='it is' user=bob", 'wifi_password=[redacted] user=bob'],
    ["password='never closed", 'password=[redacted]'],
    ['newPassword=hunter2 by bob', 'newPassword=[redacted] by bob'],
    [String.raw`password="a\" b" user=bob`, 'password=[redacted] user=bob'],
    ['the password is hunter2', 'the password is [redacted]'],
    ['password was set to hunter2', 'password was set to [redacted]'],
    ['pre-shared key abc123 of SSID x', 'pre-shared key [redacted] of SSID x'],
    ['PPSK is abc123', 'PPSK is [redacted]'],
    ['PSK: abc123', 'PSK: [redacted]'],
    ['shared secret => abc123', 'shared secret => [redacted]'],
    ['api_key:           abc123', 'api_key:        [redacted]'],
    ['Authorization: Basic dTpw done', 'Authorization: Basic [redacted] done'],
    ['Authorization: Bearer abc.def done', 'Authorization: Bearer [redacted] done'],
    ['got eyJhbGciOi.eyJzdWIi.c2ln back', 'got [redacted] back'],
    [
      'a -----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\nMII=\n-----END RSA PRIVATE KEY----- b',
      'a [redacted] b',
    ],
    ['a -----BEGIN PRIVATE KEY-----\nMII', 'a [redacted]'],
    ['{"user":"bob","password":"x y"}', '{"user":"bob","password":"[redacted]"}'],
    [String.raw`sent {\"password\":\"hunter2\"`, String.raw`sent {\"password\":[redacted]`],
    [JSON.stringify(JSON.stringify({ psk: 'a' })), JSON.stringify(JSON.stringify({ psk: '[redacted]' }))],
  ])('%s', (text, expected) => {
    expect(hide(text)).toBe(expected);
  });

  test.each([
    'User admin@example.com logged in',
    'Cloud PPSK user bob was created',
    'The password was changed by admin@example.com',
    'password for user bob expired',
    'Access key expired, token expired',
    'Network policy monkey was deployed to 3 devices',
    '{"user": "bob"}',
    'eyJ is no token',
  ])('nothing: %s', (text) => {
    expect(hide(text)).toBe(text);
  });
});

test('a secret member is hidden with all that is in it, and keeps its shape', () => {
  const event = sampleEvent('AUDIT_LOG_ALL', {
    config: {
      ssid: 'x',
      radius: [{ shared_secret: 'a', port: 1812 }],
      PSK: { value: 'b', ids: [1, null, true] },
    },
  });
  const config = { ssid: 'x', radius: [{ shared_secret: '[redacted]', port: 1812 }] };
  const hidden = { ...config, PSK: { value: '[redacted]', ids: ['[redacted]', null, true] } };
  expect(redact(event).payload['config']).toEqual(hidden);
  expect(JSON.parse(String(redact(event).columns['config']))).toEqual(hidden);
});

test('an event without secrets stays as it is, every digit of it', () => {
  for (const messageType of ['LOCATION_AP_CENTRIC', 'ACCOUNTING_LOG_ALL', 'EMAIL_LOG_ALL'] as const) {
    const event = sampleEvent(messageType);
    expect(redact(event)).toEqual(event);
    expect(redact(event).payload).toBe(event.payload);
  }
});

test('rules are a setting: names and words of one’s own', () => {
  const rules = redactionRulesSchema.parse({ members: ['tel', 'approver*'], texts: ['door code', 'room:'] });
  const own = createRedaction(rules);
  expect(own(sampleEvent('SMS_LOG_ALL')).columns['tel']).toBe('[redacted]');
  expect(own(sampleEvent('EMAIL_LOG_ALL')).payload['approverEmail']).toBe('[redacted]');
  const event = sampleEvent('AUDIT_LOG_ALL', { description: 'doorcode 12 room 7, room: 8, password 9' });
  expect(own(event).columns['description']).toBe('doorcode [redacted] room 7, room: [redacted] password 9');
  const none = createRedaction({ members: [], texts: [] });
  expect(none(event)).toEqual(event);
});

test.each(['', '*', 'a*b', '(a+)+', 'x'.repeat(100)])('a rule %j is refused', (rule) => {
  expect(redactionRulesSchema.safeParse({ members: [rule] }).success).toBe(false);
  expect(redactionRulesSchema.safeParse({ texts: [rule] }).success).toBe(false);
});

/** What no format would write by itself, nor split or escape. */
const secret = fc.stringMatching(/^Zq[0-9]{3}[A-Za-z0-9]{8,20}$/);

const SECRET_NAMES = [
  'password',
  'psk',
  'sharedSecret',
  'shared_secret',
  'apiToken',
  'wepKey',
  'PPSK',
  'adminPasswd',
];

/** The secret somewhere deep in an object, each layer an object, a list, or JSON in a text. */
const buried = secret.chain((hidden) =>
  fc
    .record({
      name: fc.constantFrom(...SECRET_NAMES),
      value: fc.constantFrom<unknown>(hidden, [hidden], { inner: [hidden] }, `${hidden} "x" \\`),
      layers: fc.array(fc.constantFrom('object', 'list', 'text'), { maxLength: 6 }),
    })
    .map(({ name, value, layers }) => ({
      hidden,
      content: layers.reduce<unknown>(bury, { [name]: value, plain: 'stays' }),
    })),
);

function bury(content: unknown, layer: string): unknown {
  if (layer === 'object') return { layer: content, other: 1 };
  return layer === 'list' ? [1, content] : JSON.stringify(content);
}

const told = fc
  .record({
    hidden: secret,
    before: fc.constantFrom(
      'with password ',
      'password: ',
      'Passphrase="',
      'psk=',
      'the shared secret is ',
      '{"password": "',
      'Bearer ',
      'token => ',
      'api key ',
    ),
    around: fc.string(),
  })
  .map(({ hidden, before, around }) => ({ hidden, text: `${around} ${before}${hidden}` }));

describe.each(FORMAT_NAMES)('no secret leaves as %s', (name) => {
  const format = createFormat(name, DEFAULT_REDACTION_RULES);

  test('from a config, whatever the nesting, nor from an unknown member', () => {
    fc.assert(
      fc.property(buried, ({ hidden, content }) => {
        for (const record of [{ config: content }, { somethingNew: content }]) {
          expect(format(sampleEvent('AUDIT_LOG_ALL', record))).not.toContain(hidden);
        }
      }),
    );
  });

  test('from a text of any record', () => {
    fc.assert(
      fc.property(told, fc.constantFrom(...EVENTS), ({ hidden, text }, event) => {
        const record = { description: text, rejectReason: text, status: text, hostNames: [text, 'b'] };
        expect(format(storedEvent(event.messageType, { ...event.payload, ...record }))).not.toContain(hidden);
      }),
    );
  });
});

describe('hostile texts', () => {
  /** A tenth of a second at most; a search that is quadratic to the text takes minutes. */
  const LENGTH = 300_000;

  test.each([
    'password ',
    'password "',
    'password "\\',
    "password '",
    'password:' + ' '.repeat(50),
    'eyJa-',
    'eyJa.',
    '-----BEGIN PRIVATE KEY-----',
    'pre-shared-',
    'key key: ',
    '[',
    '{"a":',
    '"',
    '\\',
    '😀',
  ])('%j, 300 kB of it, takes less than two seconds', (part) => {
    const text = part.repeat(LENGTH / part.length);
    const event = {
      ...sampleEvent('AUDIT_LOG_ALL'),
      columns: { description: text },
      payload: { config: { text } },
    };
    const { user } = process.cpuUsage();
    redact(event);
    expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(2_000);
  });

  test('a secret of ten megabytes is hidden', () => {
    const text = `password: ${'x'.repeat(10_000_000)}`;
    expect(redact({ ...sampleEvent('AUDIT_LOG_ALL'), columns: { description: text } }).columns).toEqual({
      description: 'password: [redacted]',
    });
  });

  test('nesting without end is cut, not followed', () => {
    const text = `${'{"a":['.repeat(5_000)}"deep"${']}'.repeat(5_000)}`;
    const columns = redact({ ...sampleEvent('AUDIT_LOG_ALL'), columns: { config: text } }).columns;
    expect(columns['config']).toMatch(/^(?:\{"a":\[){128,140}/);
    expect(columns['config']).not.toContain('deep');
  });
});
