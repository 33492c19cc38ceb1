import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTimeZone, parseTime, periodAt } from '../../../src/lib/text/parse-time.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');

describe('a time that a person writes', () => {
  it.each([
    ['now', '2026-03-01T12:00:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T08:00', '2026-01-31T08:00:00.000Z'],
    ['2026-01-31 08:00:30.25', '2026-01-31T08:00:30.250Z'],
    ['2026-01-31T08:00Z', '2026-01-31T08:00:00.000Z'],
    ['2026-01-31T08:00:30.250Z', '2026-01-31T08:00:30.250Z'],
    ['2026-01-31T08:00:00+02:00', '2026-01-31T06:00:00.000Z'],
    ['2026-01-31T24:00', '2026-02-01T00:00:00.000Z'],
    ['0s', '2026-03-01T12:00:00.000Z'],
    ['45s', '2026-03-01T11:59:15.000Z'],
    ['90m', '2026-03-01T10:30:00.000Z'],
    ['12h', '2026-03-01T00:00:00.000Z'],
    ['7d', '2026-02-22T12:00:00.000Z'],
    ['2w', '2026-02-15T12:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTime(text, NOW)?.toISOString()).toBe(expected);
  });

  it('without a zone is UTC, wherever this machine is', () => {
    const before = process.env['TZ'];
    try {
      process.env['TZ'] = 'Asia/Tokyo';
      expect(new Date(2026, 0, 31, 8).toISOString()).toBe('2026-01-30T23:00:00.000Z');
      expect(parseTime('2026-01-31T08:00', NOW)?.toISOString()).toBe('2026-01-31T08:00:00.000Z');
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });

  it.each([
    ['2026-01-31 08:00', 'Europe/Berlin', '2026-01-31T07:00:00.000Z'],
    ['2026-07-31 08:00', 'Europe/Berlin', '2026-07-31T06:00:00.000Z'],
    ['2026-07-31', 'Europe/Berlin', '2026-07-30T22:00:00.000Z'],
    ['2026-07-31', 'Asia/Kathmandu', '2026-07-30T18:15:00.000Z'],
    ['2026-07-31', 'Pacific/Kiritimati', '2026-07-30T10:00:00.000Z'],
    ['2026-07-31', 'America/St_Johns', '2026-07-31T02:30:00.000Z'],
    ['2026-07-31 08:00Z', 'Europe/Berlin', '2026-07-31T08:00:00.000Z'],
    ['12h', 'Europe/Berlin', '2026-03-01T00:00:00.000Z'],
    // The clocks go from 02:00 to 03:00: 02:30 is skipped.
    ['2026-03-29 01:59', 'Europe/Berlin', '2026-03-29T00:59:00.000Z'],
    ['2026-03-29 02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-03-29 03:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    // The clocks go back from 03:00 to 02:00: 02:30 occurs twice.
    ['2026-10-25 02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25 03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
    // Midnight is skipped.
    ['2026-09-06', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
  ])('%s in %s is %s', (text, zone, expected) => {
    expect(parseTime(text, NOW, zone)?.toISOString()).toBe(expected);
  });

  it('reads back what events are printed with, in every zone', () => {
    const date = fc.date({ min: new Date('0001-01-01Z'), max: new Date('9999-12-31Z'), noInvalidDate: true });
    const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));
    fc.assert(
      fc.property(date, zone, (time, zone) => {
        expect(parseTime(time.toISOString(), NOW, zone)).toEqual(time);
      }),
    );
  });

  it('reads back local times of every zone, except that the second of two equal ones is the first', () => {
    const minute = fc.date({
      min: new Date('1975-01-01Z'),
      max: new Date('2037-12-31Z'),
      noInvalidDate: true,
    });
    const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));
    fc.assert(
      fc.property(minute, zone, (drawn, timeZone) => {
        const time = new Date(Math.floor(drawn.getTime() / 60_000) * 60_000);
        // Swedes write ISO 8601.
        const written = (instant: Date) =>
          instant.toLocaleString('sv', { timeZone, dateStyle: 'short', timeStyle: 'short' });
        const read = parseTime(written(time), NOW, timeZone);
        expect(read && written(read)).toBe(written(time));
        expect(read?.getTime()).toBeLessThanOrEqual(time.getTime());
      }),
      { numRuns: 500 },
    );
  });

  const NONE = `yesterday 12 h -1h 1.5h 1y 1h30m Now 99999999999d 2026 2026-01 2026-13-01 2026-01-32 2026-02-30
    2026-02-30T08:00 2026-01-31T25:00Z 2026-01-31Z 2026-01-31T08:00+25:00 2026-01-31T08:00Zulu 2026-01-31T08:00+02
    2026-01-31abc x2026-01-31`;

  it.each([...NONE.split(/\s+/), '', '1h '])('%j is none', (text) => {
    expect(parseTime(text, NOW)).toBeUndefined();
  });

  it('is valid, whatever was typed, or none', () => {
    const typed = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.bigInt({ min: 0n }), fc.constantFrom('s', 'm', 'h', 'd', 'w', ''))
        .map((parts) => parts.join('')),
      fc.stringMatching(/^\d{4}-\d\d-\d\d[T ]?[\d:.Z+-]{0,14}$/),
    );
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns');
    fc.assert(
      fc.property(typed, zone, (text, zone) => {
        expect(parseTime(text, NOW, zone)?.getTime()).not.toBeNaN();
      }),
      { numRuns: 2_000 },
    );
  });
});

it.each([
  ['UTC', true],
  ['Europe/Berlin', true],
  ['europe/berlin', true],
  ['Berlin', false],
  ['', false],
  ['/etc/localtime', false],
])('knows whether %j is a time zone', (zone, expected) => {
  expect(isTimeZone(zone)).toBe(expected);
});

it.each([
  ['day', '2026-03-29', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ['week', '2026-03-23', '2026-03-22T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ['month', '2026-03', '2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z'],
] as const)('the %s of a Sunday on which a clock is changed is called %s', (every, label, since, until) => {
  const period = periodAt(every, new Date('2026-03-29T12:00:00Z'), 'Europe/Berlin');
  expect(period).toEqual({ label, since: new Date(since), until: new Date(until) });
});

it('the month after December is January', () => {
  const { until } = periodAt('month', new Date('2026-12-31T12:00:00Z'), 'UTC');
  expect(until).toEqual(new Date('2027-01-01T00:00:00Z'));
});
