import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../src/events/exact-json.ts';
import { printIso, readField } from '../../src/handlers/coerce.ts';

/** A value read as a time. */
const read = (value: unknown) =>
  readField({ value }, { column: 'value', kind: 'timestamptz', members: ['value'] });

/** The same of the JSON text of a value, as a delivery brings it. */
const readJson = (json: string) => read(parseExactJson(json));

describe('timestamptz', () => {
  const time = fc.date({
    min: new Date('1973-03-03T09:46:40Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  });

  it('reads epoch milliseconds as a number, a string and a double of Java', () => {
    fc.assert(
      fc.property(time, (date) => {
        const ms = date.getTime();
        for (const json of [
          `${ms}`,
          `"${ms}"`,
          `${ms}.0`,
          `"${ms}.000"`,
          ms.toExponential().replace('e+', 'E'),
        ]) {
          expect(readJson(json)).toBe(date.toISOString());
        }
      }),
    );
  });

  it('reads epoch seconds, with a fraction or without, where a number is too small for milliseconds', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100_000_000, max: 99_999_999_999 }),
        fc.integer({ min: 0, max: 999 }),
        (s, ms) => {
          const fraction = String(ms).padStart(3, '0');
          expect(readJson(String(s))).toBe(new Date(s * 1000).toISOString());
          expect(readJson(`"${s}"`)).toBe(new Date(s * 1000).toISOString());
          expect(readJson(`${s}.${fraction}`)).toBe(new Date(s * 1000 + ms).toISOString());
          expect(readJson(`"${s}.${fraction}"`)).toBe(new Date(s * 1000 + ms).toISOString());
        },
      ),
    );
  });

  it('reads ISO 8601 with every spelling of the zone', () => {
    fc.assert(
      fc.property(time, fc.integer({ min: -14 * 60, max: 14 * 60 }), (date, minutes) => {
        fc.pre(date.getTime() + minutes * 60_000 <= Date.UTC(9999, 11, 31));
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
        const [hh, mm] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) =>
          String(part).padStart(2, '0'),
        );
        const zone = `${minutes < 0 ? '-' : '+'}${hh}`;
        for (const text of [
          `${local}${zone}:${mm}`,
          `${local}${zone}${mm}`,
          `${local} ${zone}${mm}`,
          `${local.replace('T', ' ')}${zone}:${mm}`,
        ]) {
          expect(read(text)).toBe(date.toISOString());
        }
      }),
    );
  });

  it.each([
    ['2015-10-09T07:00:00.000+0000', '2015-10-09T07:00:00.000Z'],
    ['2015-10-09T07:00:00Z', '2015-10-09T07:00:00.000Z'],
    ['2015-10-09t07:00:00z', '2015-10-09T07:00:00.000Z'],
    ['2015-10-09 07:00', '2015-10-09T07:00:00.000Z'],
    ['2015-10-09', '2015-10-09T00:00:00.000Z'],
    ['100000000', '1973-03-03T09:46:40.000Z'],
    ['4300000000.004', '2106-04-06T12:26:40.004Z'],
    [' 2015-10-09T07:00:00,5-03 ', '2015-10-09T10:00:00.500Z'],
    ['2015-10-09T07:00:00.123456789Z', '2015-10-09T07:00:00.123Z'],
    ['2016-02-29', '2016-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['20261125T081500Z', '2026-11-25T08:15:00.000Z'],
    ['20261125T081500.25+0100', '2026-11-25T07:15:00.250Z'],
    ['2026-11-25T08:15:60Z', '2026-11-25T08:15:59.999Z'],
    ['2026-11-25T08:15:60.5+02:00', '2026-11-25T06:15:59.999Z'],
    ['2026-11-25T08:15:00+01:00[Europe/Berlin]', '2026-11-25T07:15:00.000Z'],
    ['2026-11-25T08:15:00Z[UTC]', '2026-11-25T08:15:00.000Z'],
    ['1795000500123456', '2026-11-18T11:15:00.123Z'],
    ['1795000500123456789', '2026-11-18T11:15:00.123Z'],
    ['1.795000500123456E15', '2026-11-18T11:15:00.123Z'],
  ])('reads %j', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  const NOT_TIMES = `0000-00-00 00:00:00|0000-12-31T23:59:59Z|0001-01-01T00:00:00+05:00|9999-12-31T23:59:59-05:00
    10000-01-01T00:00:00Z|-000001-01-01T00:00:00Z|2015-02-29|2026-02-30T00:00:00Z|2026-13-01|2026-01-01T25:00:00Z
    2026-01-01T00:00:00+99:00|2026-01-01T00:00:00 UTC|2026-01-01T00:00:00[Europe/Berlin]|2026-01-01T08:60:00Z|20260101T0815|2026-1-1|20260101|Fri Oct 09 2015 07:00:00|now`;

  it.each(NOT_TIMES.split(/\||\n\s*/))('reads no time in the text %s', (value) =>
    expect(read(value)).toBeNull(),
  );

  const OUT_OF_RANGE = [0, 1, -1_700_000_000_000, 99_999_999, 1e21];

  it.each([...OUT_OF_RANGE, '', ' ', true, {}, [1_700_000_000_000]])('reads no time in %j', (value) => {
    expect(read(value)).toBeNull();
  });

  it('gives for any text a time of the years 1 to 9999, or none', () => {
    const part = (max: number, width: number) =>
      fc.integer({ min: 0, max }).map((n) => String(n).padStart(width, '0'));
    const text = fc
      .tuple(
        part(9999, 4),
        part(13, 2),
        part(32, 2),
        part(25, 2),
        part(60, 2),
        part(61, 2),
        fc.constantFrom('', 'Z', '+1400', '-14:00', '+05'),
      )
      .map(([year, month, day, h, m, s, zone]) => `${year}-${month}-${day}T${h}:${m}:${s}${zone}`);
    fc.assert(
      fc.property(fc.oneof(text, fc.string(), fc.double().map(String)), (value) => {
        expect(read(value) ?? '2026-01-01T00:00:00.000Z').toMatch(
          /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
        );
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('printIso', () => {
  it('prints what toISOString does, for times of one day and of others in turn', () => {
    const time = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    const within = fc.array(fc.integer({ min: -86_400_000, max: 86_400_000 }), { minLength: 2 });
    fc.assert(
      fc.property(time, within, (date, offsets) => {
        for (const offset of offsets) {
          const near = Math.min(Math.max(date.getTime() + offset, -62_135_596_800_000), 253_402_300_799_999);
          expect(printIso(near)).toBe(new Date(near).toISOString());
        }
      }),
    );
    for (const exact of [0, 0.5, 1.9, 1_769_846_400_123.75, 86_399_999.999, 86_400_000]) {
      expect(printIso(exact)).toBe(new Date(exact).toISOString());
    }
  });
});
