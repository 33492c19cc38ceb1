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
          `${local}${zone}:${mm}[Europe/Zurich]`,
          `${local}${zone}${mm}[Europe/Zurich]`,
          ...(mm === '00' ? [`${local}${zone}`, `${local}${zone}[Europe/Zurich]`] : []),
        ]) {
          expect(read(text)).toBe(date.toISOString());
        }
      }),
    );
    expect(read('2026-01-31T08:00:00Z[UTC]')).toBe('2026-01-31T08:00:00.000Z');
    expect(read('2026-01-31T08:00:00-05[America/New_York]:30')).toBeNull();
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
      { numRuns: 500 },
    );
  });
});

it('printIso prints what toISOString does, for times of one day and of others in turn', () => {
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
