import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatCef } from '../../../src/forward/formats/cef.ts';
import { formatLeef } from '../../../src/forward/formats/leef.ts';
import { createFormat, FORMAT_NAMES } from '../../../src/forward/formats/formats.ts';
import { formatText } from '../../../src/forward/formats/text.ts';
import { cut } from '../../../src/forward/formats/line-formats.ts';
import { DEFAULT_REDACTION_RULES } from '../../../src/forward/redaction-rules.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { arriving, readCef, readLeef } from './read-lines.ts';
import { EVENTS, eventsOfAnyText, sampleEvent } from './stored-events.ts';
import { anyCharacter } from '../../support/any-character.ts';

const withColumns = (event: StoredEvent, columns: StoredEvent['columns']): StoredEvent => ({
  ...event,
  columns: { ...event.columns, ...columns },
});

const MARKS = ['|', '=', '\\', '^', '\n', '\r', '\t', '\0', ']', '"', "'", ' ', 'k=v', '\\n'];
const HIDDEN = ['\u2028', '\u0085', '\u001b[31m', '\u202e', '\u200b', '\ufeff', '\u{e0041}', '\ud83d', '😀'];

const hostile = fc.oneof(
  fc.string({ unit: anyCharacter, minLength: 1 }),
  fc
    .array(fc.constantFrom(...MARKS, ...HIDDEN), { minLength: 1, maxLength: 20 })
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

const written = fc.record({ column: fc.constantFrom(...TEXT_COLUMNS), value: hostile });

test('any text arrives by CEF', () => {
  fc.assert(
    fc.property(written, ({ column: [messageType, column, key], value }) => {
      const line = formatCef(withColumns(sampleEvent(messageType), { [column]: value }));
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(line.isWellFormed()).toBe(true);
      expect(readCef(line).values.get(key)).toBe(arriving(value, '\r\n'));
    }),
    { numRuns: 300 },
  );
});

test('any text arrives by LEEF, but for its delimiter', () => {
  fc.assert(
    fc.property(written, ({ column: [messageType, column, , key], value }) => {
      const line = formatLeef(withColumns(sampleEvent(messageType), { [column]: value }));
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(readLeef(line).values.get(key)).toBe(arriving(value, '').replaceAll('^', ''));
    }),
    { numRuns: 300 },
  );
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

test('headers hold any id, cut at 1,023 characters before it is escaped, or 255 in LEEF', () => {
  const event = withColumns(sampleEvent('AUDIT_LOG_ALL'), { code: `|\\\n${'x'.repeat(2_000)}` });
  expect(readCef(formatCef(event)).header[4]).toBe(`|\\ ${'x'.repeat(1_020)}`);
  expect(readLeef(formatLeef(event)).header[4]).toBe(` \\ ${'x'.repeat(252)}`);
});

test('every custom key of CEF has its label', () => {
  const unlabelled = EVENTS.flatMap((event) => {
    const keys = new Set(readCef(formatCef(event)).values.keys());
    return [...keys].filter((key) => /^(?:cs|cn|c6a)\d$/.test(key) && !keys.has(`${key}Label`));
  });
  expect(unlabelled).toEqual([]);
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

test('as text, every event is one line that ends with its source and id, without hidden characters', () => {
  fc.assert(
    fc.property(eventsOfAnyText(hostile), (event) => {
      const line = formatText(event);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
      expect(line.endsWith(`source ${event.source}, event ${event.eventId})`)).toBe(true);
    }),
  );
});

test('a description of 60 kB arrives whole by LEEF, and its first 1,023 characters by CEF', () => {
  const value = 'a|b=c\\d^ 😀 '.repeat(5_000);
  const event = withColumns(sampleEvent('AUDIT_LOG_ALL'), { description: value });
  expect(readCef(formatCef(event)).values.get('msg')).toBe(cut(value, 1_023));
  expect(readLeef(formatLeef(event)).values.get('msg')).toBe(value.replaceAll('^', ''));
  expect(cut(`${'x'.repeat(1_022)}😀`, 1_023)).toBe('x'.repeat(1_022));
});
