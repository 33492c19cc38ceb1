import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTime } from '../src/parse-time.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');

describe('a time that a person writes', () => {
  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T08:00Z', '2026-01-31T08:00:00.000Z'],
    ['2026-01-31 08:00Z', '2026-01-31T08:00:00.000Z'],
    ['2026-01-31T08:00:30.250Z', '2026-01-31T08:00:30.250Z'],
    ['2026-01-31T08:00:00+02:00', '2026-01-31T06:00:00.000Z'],
    ['0s', '2026-03-01T12:00:00.000Z'],
    ['45s', '2026-03-01T11:59:15.000Z'],
    ['90m', '2026-03-01T10:30:00.000Z'],
    ['12h', '2026-03-01T00:00:00.000Z'],
    ['7d', '2026-02-22T12:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTime(text, NOW)?.toISOString()).toBe(expected);
  });

  it('without a zone is the time of day here', () => {
    expect(parseTime('2026-01-31T08:00', NOW)).toEqual(new Date(2026, 0, 31, 8));
  });

  it('reads back what events are printed with', () => {
    const date = fc.date({ min: new Date('0001-01-01Z'), max: new Date('9999-12-31Z'), noInvalidDate: true });
    fc.assert(
      fc.property(date, (time) => {
        expect(parseTime(time.toISOString(), NOW)).toEqual(time);
      }),
    );
  });

  it.each([
    '',
    'now',
    'yesterday',
    '12',
    'h',
    '-1h',
    '1.5h',
    '1w',
    '1h ',
    '1h30m',
    '99999999999d',
    '99999999999999999999999s',
    '2026',
    '2026-01',
    '2026-13-01',
    '2026-01-32',
    '2026-01-31T25:00Z',
    '2026-01-31T08:00Zulu',
    '2026-01-31T08:00+02',
    '2026-01-31 (comment)',
    '2026-01-31abc',
    'x2026-01-31',
    '31.01.2026',
  ])('%j is none', (text) => {
    expect(parseTime(text, NOW)).toBeUndefined();
  });

  it('is valid, whatever was typed, or none', () => {
    const typed = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.bigInt({ min: 0n }), fc.constantFrom('s', 'm', 'h', 'd', ''))
        .map((parts) => parts.join('')),
      fc.stringMatching(/^\d{4}-\d\d-\d\d[T ]?[\d:.Z+-]{0,14}$/),
    );
    fc.assert(
      fc.property(typed, (text) => {
        expect(parseTime(text, NOW)?.getTime()).not.toBeNaN();
      }),
      { numRuns: 2_000 },
    );
  });
});
