import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf } from '../../src/console/addresses.ts';
import { readQuery } from '../../src/console/api/parameters.ts';
import { conditions, queryOfConditions, type Conditions } from '../../src/console/events/conditions.ts';
import { MESSAGE_TYPES } from '../../src/events/domain.ts';
import { parseMacAddress } from '../../src/events/mac-address.ts';

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((value) => !value.includes('\0'));
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const mac = fc
  .uint8Array({ minLength: 6, maxLength: 6 })
  .map((bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':'));
const time = fc.date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true });

const anyConditions: fc.Arbitrary<Conditions> = fc
  .record(
    {
      since: time,
      until: time,
      type: fc.uniqueArray(fc.constantFrom(...MESSAGE_TYPES), { minLength: 1 }),
      user: text,
      code: int64,
      org: int64,
      mac,
      ap: mac,
      device: text,
      text,
    },
    { requiredKeys: [] },
  )
  .filter(({ since, until }) => since === undefined || until === undefined || since < until);

/** What a page reads out of its address. */
function readAddress(address: string) {
  const { searchParams } = new URL(address, 'http://localhost');
  const names = [...new Set(searchParams.keys())];
  const written = Object.fromEntries(names.map((name) => [name, oneOrMore(searchParams.getAll(name))]));
  return readQuery(conditions, written);
}

const oneOrMore = (values: string[]) => {
  const [first] = values;
  return values.length === 1 && first !== undefined ? first : values;
};

describe('the link to a search', () => {
  it('reproduces every condition', () => {
    fc.assert(
      fc.property(anyConditions, (asked) => {
        const again = readAddress(addressOf('/events', queryOfConditions(asked)));
        expect(again.values).toEqual(asked);
      }),
    );
  });

  it('means the same in whatever notation a MAC address is written', () => {
    fc.assert(
      fc.property(mac, fc.constantFrom(':', '-', '.', '', ' '), fc.boolean(), (address, between, isUpper) => {
        const written = address.replaceAll(':', between);
        expect(parseMacAddress(isUpper ? written.toUpperCase() : written)).toBe(address);
      }),
    );
  });

  it('takes a time without an offset as UTC', () => {
    expect(readAddress('/events?since=2026-01-31%2008:00').values?.since).toEqual(
      new Date('2026-01-31T08:00:00Z'),
    );
  });
});
