import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatCef } from '../../../src/forward/formats/cef.ts';
import { formatLeef } from '../../../src/forward/formats/leef.ts';
import { createFormat, FORMAT_NAMES } from '../../../src/forward/formats/formats.ts';
import { cut } from '../../../src/forward/formats/line-formats.ts';
import { DEFAULT_REDACTION_RULES } from '../../../src/forward/redaction-rules.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { arriving, readCef, readLeef } from './read-lines.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText, sampleEvent } from './stored-events.ts';
import { anyCharacter } from '../../support/any-character.ts';

const withColumns = (event: StoredEvent, columns: StoredEvent['columns']): StoredEvent => ({
  ...event,
  columns: { ...event.columns, ...columns },
});

const hostile = fc.oneof(
  fc.string({ unit: anyCharacter, minLength: 1 }),
  fc
    .array(
      fc.constantFrom(
        '|',
        '=',
        '\\',
        '^',
        '\n',
        '\r',
        '\t',
        '\0',
        ']',
        '"',
        "'",
        ' ',
        'k=v',
        '\\n',
        '😀',
        '\ud83d',
        '\u2028',
        '\u0085',
        '\u001b[31m',
        '\u202e',
        '\u200b',
        '\ufeff',
        '\u{e0041}',
      ),
      { minLength: 1, maxLength: 20 },
    )
    .map((parts) => parts.join('')),
);

/** Columns that CEF and LEEF write as they are told, with their keys. */
const TEXT_COLUMNS = [
  ['AUDIT_LOG_ALL', 'description', 'msg', 'msg'],
  ['AUDIT_LOG_ALL', 'user_name', 'suser', 'usrName'],
  ['AUDIT_LOG_ALL', 'vhm_name', 'cs4', 'vhmName'],
  ['AUDIT_LOG_ALL', 'org_name', 'cs2', 'orgName'],
  ['AUTHENTICATION_LOG_ALL', 'ssid', 'cs1', 'ssid'],
  ['AUTHENTICATION_LOG_ALL', 'nas_identifier', 'dvchost', 'nasIdentifier'],
  ['AUTHENTICATION_LOG_ALL', 'reject_reason', 'reason', 'rejectReason'],
  ['ACCOUNTING_LOG_ALL', 'acct_session_id', 'cs4', 'acctSessionId'],
  ['SMS_LOG_ALL', 'tel', 'xiqTel', 'tel'],
  ['GDPR_LOG_ALL', 'category', 'xiqGdprCategory', 'gdprCategory'],
] as const;

describe.each(TEXT_COLUMNS)('%s, %s', (messageType, column, cefKey, leefKey) => {
  const event = sampleEvent(messageType);

  test('any text arrives by CEF', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const line = formatCef(withColumns(event, { [column]: value }));
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(line.isWellFormed()).toBe(true);
        expect(readCef(line).values.get(cefKey)).toBe(arriving(value, '\r\n'));
      }),
    );
  });

  test('any text arrives by LEEF, but for its delimiter', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const line = formatLeef(withColumns(event, { [column]: value }));
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(readLeef(line).values.get(leefKey)).toBe(arriving(value, '').replaceAll('^', ''));
      }),
    );
  });
});

test('what turns or hides text for a reader is shown as its number, and in JSON parses to the same text', () => {
  const said = 'a\u202eb\u2066c\u200bd\u{e0041} 👩‍💻';
  const shown = String.raw`a\u202eb\u2066c\u200bd\udb40\udc41 👩‍💻`;
  const event = withColumns(sampleEvent('AUDIT_LOG_ALL'), { description: said, user_name: said });
  expect(readCef(formatCef(event)).values.get('msg')).toBe(shown);
  expect(readLeef(formatLeef(event)).values.get('msg')).toBe(shown);
  for (const name of FORMAT_NAMES) {
    const text = createFormat(name, DEFAULT_REDACTION_RULES)(event);
    expect({ name, hidden: /[\u202e\u2066\u200b]/u.test(text) }).toEqual({ name, hidden: false });
  }
  const parsed: unknown = JSON.parse(createFormat('json', DEFAULT_REDACTION_RULES)(event));
  expect(JSON.stringify(parsed)).toContain(said);
});

test('whatever stands in all columns at once, a line is read as such, every key once and alone', () => {
  const shapes = EVENTS.map((event) => [readCef(formatCef(event)), readLeef(formatLeef(event))]);
  expect(shapes.flat().every(({ values }) => values.size > 5)).toBe(true);
  fc.assert(
    fc.property(eventsOfAnyText(hostile), (event) => {
      const cef = readCef(formatCef(event));
      expect(cef.values.get('externalId')).toBe(event.eventId);
      expect(cef.values.get('xiqOrigin')).toBe(event.origin);
      expect(cef.header).toHaveLength(7);
      const leef = readLeef(formatLeef(event));
      expect(leef.values.get('eventId')).toBe(event.eventId);
      expect(leef.values.get('origin')).toBe(event.origin);
    }),
  );
});

describe('headers', () => {
  test.each([
    ['login', '10001', '3'],
    ['logout', '10002', '2'],
    ['ppskCreated', '40001', '4'],
    ['ppskDeleted', '40003', '5'],
    ['configuration', '50000', '5'],
    ['audit', '50001', '3'],
    ['authentication', 'AUTH-ACCEPT', '3'],
    ['accountingStart', 'ACCT-START', '1'],
    ['accountingInterim', 'ACCT-INTERIM', '1'],
    ['accountingStop', 'ACCT-STOP', '1'],
    ['credential', 'CREDENTIAL', '4'],
    ['email', 'EMAIL', '1'],
    ['sms', 'SMS', '1'],
    ['gdprDeletion', 'GDPR-DELETE', '6'],
    ['gdprDownload', 'GDPR-DOWNLOAD', '4'],
    ['gdpr', 'GDPR', '3'],
    ['location', 'LOCATION', '0'],
    ['alert', 'ALERT', '9'],
    ['other', 'OTHER', '1'],
  ] as const)('%s is %s of severity %s', (kind, id, severity) => {
    const { header } = readCef(formatCef(EVENT_OF_KIND[kind]));
    expect(header).toEqual([
      'CEF:0',
      'Extreme Networks',
      'ExtremeCloud IQ',
      '1',
      id,
      expect.any(String),
      severity,
    ]);
    const leef = readLeef(formatLeef(EVENT_OF_KIND[kind]));
    expect(leef.header).toEqual(['LEEF:2.0', 'Extreme Networks', 'ExtremeCloud IQ', '1', id, '^']);
    expect(leef.values.get('sev')).toBe(severity === '0' ? '1' : severity);
  });

  test('a failed authentication is of severity 6', () => {
    const { header } = readCef(formatCef(sampleEvent('AUTHENTICATION_LOG_ALL')));
    expect([header[4], header[6]]).toEqual(['AUTH-REJECT', '6']);
    const unsaid = sampleEvent('AUTHENTICATION_LOG_ALL', { reply: null, rejectReason: null });
    expect(readLeef(formatLeef(unsaid)).header[4]).toBe('AUTH-OTHER');
  });

  test('hold any id, cut at 1,023 characters before it is escaped, or 255 in LEEF', () => {
    const event = withColumns(sampleEvent('AUDIT_LOG_ALL'), { code: `|\\\n${'x'.repeat(2_000)}` });
    expect(readCef(formatCef(event)).header[4]).toBe(`|\\ ${'x'.repeat(1_020)}`);
    expect(readLeef(formatLeef(event)).header[4]).toBe(` \\ ${'x'.repeat(252)}`);
  });
});

describe('the keys of CEF', () => {
  const keys = (event: StoredEvent) => Object.fromEntries(readCef(formatCef(event)).values);

  test('an audit record', () => {
    expect(keys(EVENT_OF_KIND.configuration)).toMatchObject({
      act: 'configuration-changed',
      cat: 'AUDIT_LOG_ALL',
      rt: String(Date.parse('2026-01-31T08:00:00.123Z')),
      outcome: 'unknown',
      suid: '2345678',
      suser: 'admin@example.com',
      dhost: 'ap-1',
      cs1: '0',
      cs2: 'North',
      cs3: '1234567',
      cs4: 'VHM-EXAMPLE',
      cs5: 'ap-1',
      cs6: '11',
      cn1: '3',
      cn2: '2',
      msg: 'User admin@example.com logged in',
    });
    expect(keys(EVENT_OF_KIND.ppskCreated)).toMatchObject({ duser: 'guest-17' });
  });

  test('every custom key has its label', () => {
    const found = EVENTS.map((event) => keys(event));
    const unlabelled = found.flatMap((event) =>
      Object.keys(event).filter((key) => /^(?:cs|cn|c6a)\d$/.test(key) && !(`${key}Label` in event)),
    );
    expect(unlabelled).toEqual([]);
  });

  test.each([
    ['2147483647', { in: '2147483647' }],
    ['2147483648', { cn1: '2147483648', cn1Label: 'Bytes In' }],
    ['9223372036854775807', { cn1: '9223372036854775807', cn1Label: 'Bytes In' }],
  ])('%s octets are within the type of their key', (acctInputOctets, expected) => {
    const found = keys(sampleEvent('ACCOUNTING_LOG_ALL', { acctInputOctets }));
    expect(found).toMatchObject({ ...expected, out: '1024' });
    expect('in' in found).toBe('in' in expected);
  });

  test('a session has its own custom keys', () => {
    expect(keys(sampleEvent('AUTHENTICATION_LOG_ALL'))).toMatchObject({
      cs1: 'Guest WiFi',
      cs1Label: 'SSID',
      cs2: 'EAP-TLS',
      cs2Label: 'Authentication Type',
      cs3: 'Access-Reject',
      cs3Label: 'Reply',
    });
    expect(keys(EVENT_OF_KIND.accountingStop)).toMatchObject({ cs4: '5F00-AB', cs4Label: 'Session ID' });
  });

  test('LEEF identifies the client of a session, and the host of an audit record', () => {
    const values = (event: StoredEvent) => Object.fromEntries(readLeef(formatLeef(event)).values);
    expect(values(EVENT_OF_KIND.accountingStop)).toMatchObject({
      identSrc: '10.1.2.3',
      cat: 'ACCOUNTING_LOG_ALL',
    });
    expect(values(EVENT_OF_KIND.configuration)).toMatchObject({ identHostName: 'ap-1' });
    expect(values(EVENT_OF_KIND.location)).not.toHaveProperty('identSrc');
  });

  test('an IPv6 address is no src', () => {
    const session = sampleEvent('ACCOUNTING_LOG_ALL', {
      framedIpAddress: 'fe80::1',
      nasIpAddress: '2001:db8::2',
    });
    expect(keys(session)).toMatchObject({ c6a2: 'fe80::1', c6a1: '2001:db8::2' });
    expect(keys(session)).not.toHaveProperty('src');
    expect(keys(EVENT_OF_KIND.location)).toMatchObject({ src: '10.1.2.3', c6a2: 'fe80::a1b:2cff:fe3d:4e5f' });
  });
});

/** The longest values of the CEF dictionary (implementation standard, chapter 2) and of LEEF's predefined attributes. */
const CEF_LENGTHS: Readonly<Record<string, number>> = {
  act: 63,
  cat: 1023,
  deviceExternalId: 255,
  dhost: 1023,
  duser: 1023,
  dvchost: 100,
  externalId: 40,
  msg: 1023,
  outcome: 63,
  reason: 1023,
  suid: 1023,
  suser: 1023,
};
const LEEF_LENGTHS: Readonly<Record<string, number>> = { usrName: 255, identHostName: 255 };

test('no value is longer than its key allows', () => {
  const long = 'x'.repeat(10_000);
  const tooLong = EVENTS.flatMap((event) => {
    const columns = Object.keys(event.columns).map((column) => [column, long] as const);
    const huge = { ...event, columns: Object.fromEntries(columns) };
    const cef = [...readCef(formatCef(huge)).values].filter(
      ([key, { length }]) => length > (/^cs\d$/.test(key) ? 4_000 : (CEF_LENGTHS[key] ?? Infinity)),
    );
    const leef = [...readLeef(formatLeef(huge)).values].filter(
      ([key, { length }]) => length > (LEEF_LENGTHS[key] ?? Infinity),
    );
    return [...cef, ...leef].map(([key]) => key);
  });
  expect(tooLong).toEqual([]);
});

test('a description of 60 kB arrives whole by LEEF, and its first 1,023 characters by CEF', () => {
  const value = 'a|b=c\\d^ 😀 '.repeat(5_000);
  const event = withColumns(sampleEvent('AUDIT_LOG_ALL'), { description: value });
  expect(readCef(formatCef(event)).values.get('msg')).toBe(cut(value, 1_023));
  expect(readLeef(formatLeef(event)).values.get('msg')).toBe(value.replaceAll('^', ''));
  expect(cut(`${'x'.repeat(1_022)}😀`, 1_023)).toBe('x'.repeat(1_022));
});

test('neither carries config nor payload', () => {
  const event = sampleEvent('AUDIT_LOG_ALL', {
    config: { marker: 'only-in-config' },
    extra: 'only-in-payload',
  });
  expect(formatCef(event) + formatLeef(event)).not.toMatch(/only-in/);
});
