import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../src/events/exact-json.ts';
import { readField } from '../../src/handlers/coerce.ts';
import type { FieldKind } from '../../src/events/message-types.ts';

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
  it.each([
    ['"as it is "', 'as it is '],
    ['""', ''],
    ['12', '12'],
    ['1.50', '1.50'],
    ['9223372036854775807', '9223372036854775807'],
    ['1e5', '1e5'],
    ['true', 'true'],
    ['false', 'false'],
    ['{}', null],
    ['["a"]', null],
  ])('%s is read as %j', (json, expected) => {
    expect(readJson('text', json)).toBe(expected);
  });

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
    expect(readJson('bigint', '1.2345678E7')).toBe('12345678');
  });

  it.each([
    ['-0', '0'],
    ['"+7"', '7'],
    ['"007"', '7'],
    ['9223372036854775808', null],
    ['"-9223372036854775809"', null],
  ])('%s is read as %j', (json, expected) => {
    expect(readJson('bigint', json)).toBe(expected);
  });

  it.each('1.5 "1.5E0" 1e-400 1e400 "1e99999999" "" "-" "0x10" "1_000" "٣" "NaN" true [1] {}'.split(' '))(
    '%s is read as none',
    (json) => expect(readJson('bigint', json)).toBeNull(),
  );
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

  it.each([
    ['-67', '-67'],
    ['"-67"', '-67'],
    ['-67.50', '-67.5'],
    ['".5"', '0.5'],
  ])('%s is read as %j', (json, expected) => {
    expect(readJson('double precision', json)).toBe(expected);
  });

  it.each('1e400 "Infinity" "NaN" "0x10" "" "e" "1dBm" true [1]'.split(' '))('%s is read as none', (json) =>
    expect(readJson('double precision', json)).toBeNull(),
  );
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

  it.each([
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['0:0:0:0:0:FFFF:a01:203', '10.1.2.3'],
    ['2001:db8:ffff::1', '2001:db8:ffff::1'],
  ])('%j is read as %j', (value, expected) => {
    expect(read('inet', value)).toBe(expected);
  });

  it.each(['10.1.2.3/24', '10.1.2', '10.1.2.256', 'host.example', '', 167_837_955])(
    'reads none in %j',
    (value) => {
      expect(read('inet', value)).toBeNull();
    },
  );
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

  const NONE = `aabbccddee aabbccddeeff0 aa:bb:cc:dd:ee aa::bb:cc:dd:ee:ff gg:bb:cc:dd:ee:ff n/a
    ec:f4:bb:ff:fe:37:dd:aa EC-F4-BB-FF-FE-37-DD-AA ecf4.bbff.fe37.ddaa ecf4bbfffe37ddaa a:b:c:d:e 0:f4:b:37:dd:a:1`;

  it.each(NONE.split(/\s+/))('reads none in %j', (value) => {
    expect(read('macaddr', value)).toBeNull();
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

  it.each([
    ['bigint[]', '[9223372036854775807,"12",3.0]', '{"9223372036854775807","12","3"}'],
    ['bigint[]', '[]', '{}'],
    ['bigint[]', '7', '{"7"}'],
    ['bigint[]', '[null,7,null]', '{"7"}'],
    ['bigint[]', '[null]', '{}'],
    ['key[]', '["ap-1",null,"ap-2"]', '{"ap-1","ap-2"}'],
    ['bigint[]', '[1,"x"]', null],
    ['bigint[]', '[[1],[2]]', null],
    ['key[]', '"alone"', '{"alone"}'],
    ['key[]', '["a",1,true]', '{"a","1","true"}'],
    ['key[]', '["a",{}]', null],
    ['jsonb', '{"a":[1.0,null,12345678901234567890]}', '{"a":[1.0,null,12345678901234567890]}'],
    ['jsonb', '"text"', '"text"'],
    ['jsonb', 'false', 'false'],
    ['jsonb', '1.50', '1.50'],
  ] as const)('%s reads %s as %s', (kind, json, expected) => {
    expect(readJson(kind, json)).toBe(expected);
  });
});
