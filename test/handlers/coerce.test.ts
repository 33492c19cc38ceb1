import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../src/events/exact-json.ts';
import { readField } from '../../src/handlers/coerce.ts';
import { FIELDS, type FieldKind } from '../../src/events/message-types.ts';

/** A value read as a column of a kind. */
const read = (kind: FieldKind, value: unknown) =>
  readField({ value }, { column: 'value', kind, members: ['value'] });

/** The same of the JSON text of a value, as a delivery brings it. */
const readJson = (kind: FieldKind, json: string) => read(kind, parseExactJson(json));

describe('readField', () => {
  const field = {
    column: 'user_name',
    kind: 'text',
    members: ['userName', 'user_name', 'username'],
  } as const;

  it('takes the first member that carries a value', () => {
    expect(readField({ username: 'c', user_name: 'b', userName: 'a' }, field)).toBe('a');
    expect(readField({ username: 'c', userName: null, user_name: undefined }, field)).toBe('c');
    expect(readField({ other: 'x' }, field)).toBeNull();
    expect(readField({}, field)).toBeNull();
  });

  it('goes on to the next member when one is of another kind', () => {
    expect(readField({ userName: { first: 'a' }, user_name: ['b'], username: 'c' }, field)).toBe('c');
    const time = { column: 'occurred_at', kind: 'timestamptz', members: ['seenEpoch', 'seenTime'] } as const;
    expect(readField({ seenEpoch: 'soon', seenTime: '2026-01-31T08:00:00Z' }, time)).toBe(
      '2026-01-31T08:00:00.000Z',
    );
  });

  it('takes no member that an object only inherits', () => {
    const inherited = {
      column: 'x',
      kind: 'jsonb',
      members: ['constructor', '__proto__', 'toString'],
    } as const;
    expect(readField({}, inherited)).toBeNull();
    expect(readField(Object.fromEntries([['__proto__', [1]]]), inherited)).toBe('[1]');
  });
});

describe('text', () => {
  it('of any length is read, but a key only as long as an index holds', () => {
    expect(read('text', 'x'.repeat(100_000))).toHaveLength(100_000);
    expect(read('key', 'x'.repeat(512))).toHaveLength(512);
    expect(read('key', 'x'.repeat(513))).toBeNull();
    expect(read('key[]', ['x'.repeat(513)])).toBeNull();
    expect(Buffer.byteLength(read('key', '\uFFFF'.repeat(512)) ?? '')).toBeLessThan(2_704);
  });
});

describe('bigint', () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

  it('keeps every digit of an int64, as a number, as a string and as a whole decimal', () => {
    fc.assert(
      fc.property(int64, (value) => {
        for (const json of [`${value}`, `"${value}"`, `" ${value} "`, `${value}.0`, `"${value}.000"`]) {
          expect(readJson('bigint', json)).toBe(String(value));
        }
      }),
    );
  });

  it('is null for what an int64 cannot hold', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 63n, max: 10n ** 40n }), (value) => {
        for (const json of [`${value}`, `"${value}"`, `-${value + 1n}`, `"-${value + 1n}"`]) {
          expect(readJson('bigint', json)).toBeNull();
        }
      }),
    );
  });

  it('reads whole numbers in the form Java prints a double', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const [digits = '', exponent = ''] = value.toExponential().split('e+');
        for (const json of [`${digits}E${exponent}`, `"${digits}E${exponent}"`, `${digits}e+${exponent}`]) {
          expect(readJson('bigint', json)).toBe(String(value));
        }
      }),
    );
  });
});

describe('double precision', () => {
  it('reads any finite number, as a number and as a string', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Number(readJson('double precision', JSON.stringify(value)))).toBe(value + 0);
        expect(Number(read('double precision', ` ${value} `))).toBe(value + 0);
      }),
    );
  });
});

describe('inet', () => {
  it('reads every address of IPv4 and IPv6', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        fc.pre(!/^[0:]+:ffff:/i.test(address));
        expect(read('inet', ` ${address} `)).toBe(address);
      }),
    );
  });
});

describe('macaddr', () => {
  const octets = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 6, maxLength: 6 });
  const hex = (numbers: readonly number[]) => numbers.map((octet) => octet.toString(16).padStart(2, '0'));

  it('reads one address in every notation, in either case, as the same', () => {
    fc.assert(
      fc.property(octets, (numbers) => {
        const plain = hex(numbers).join('');
        const words = [plain.slice(0, 4), plain.slice(4, 8), plain.slice(8)];
        const halves = [plain.slice(0, 6), plain.slice(6)];
        const short = numbers.map((octet) => octet.toString(16));
        const notations = [
          plain,
          short.join(':'),
          short.join('-'),
          ...[':', '-', ' ', '.', '_'].map((mark) => hex(numbers).join(mark)),
        ].concat(words.join('.'), words.join('-'), words.join(':'), halves.join('-'), ` ${plain} `);
        for (const text of notations) {
          expect(read('macaddr', text)).toBe(plain);
          expect(read('macaddr', text.toUpperCase())).toBe(plain);
        }
      }),
    );
  });

  it('reads the address at the head of a station id, whatever the network is called', () => {
    fc.assert(
      fc.property(octets, fc.string(), (numbers, ssid) => {
        expect(read('macaddr', `${hex(numbers).join('-').toUpperCase()}:${ssid}`)).toBe(
          hex(numbers).join(''),
        );
      }),
    );
  });
});

describe('arrays and documents', () => {
  /** Reads back an array literal of Postgres (manual, "Array Input and Output Syntax"), all elements quoted. */
  function parseLiteral(literal: string): string[] {
    expect(literal).toMatch(/^\{(?:"(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*")*)?\}$/su);
    return [...literal.matchAll(/"((?:[^"\\]|\\.)*)"/gsu)].map(([, quoted = '']) =>
      quoted.replaceAll(/\\(.)/gsu, '$1'),
    );
  }

  it('quotes elements so that each comes back, commas, braces, quotes and all', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom('NULL', '{}', 'a"b', 'c\\', ',', ''))),
        (names) => {
          expect(parseLiteral(read('key[]', names) ?? '')).toEqual(names);
        },
      ),
    );
  });
});

const VALUES = readFileSync(new URL('recorded/values.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');

const KINDS = new Set(Object.values(FIELDS).flatMap((fields) => fields.map(({ kind }) => kind)));

/** `vitest run -u` records it anew, such as after a value was added. What a kind does not read is left out. */
it('the columns read from odd values what is recorded', async () => {
  const lines = [...KINDS].flatMap((kind) =>
    VALUES.flatMap((json) => {
      const value = readJson(kind, json);
      return value === null ? [] : [`${kind}: ${json} is read as ${value}\n`];
    }),
  );
  await expect(lines.join('')).toMatchFileSnapshot('recorded/columns.txt');
});
