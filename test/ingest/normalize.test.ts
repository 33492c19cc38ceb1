import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeBody, unreadableBody, UnreadableError } from '../../src/ingest/normalize.ts';

const normalize = (text: string) => normalizeBody(Buffer.from(text));

/** The content of what was set aside, as text. */
const setAside = (text: string) =>
  normalize(text).unreadable.map(({ content }) => Buffer.from(content, 'base64').toString());

const record = fc.dictionary(fc.string(), fc.jsonValue());

describe('a body', () => {
  it('of one object is one record, its text kept as it was sent', () => {
    const sent = ' {"b": 1.0,\n "a":\t12345678901234567890, "__proto__":{} }\r\n';
    expect(normalize(sent)).toEqual({ recordCount: 1, records: `[${sent}]`, unreadable: [] });
  });

  it('of an array of objects is its records, their text kept as it was sent', () => {
    const sent = ' [ {"id":9223372036854775807} ,{},\n{"x":1e5} ] ';
    expect(normalize(sent)).toEqual({ recordCount: 3, records: sent, unreadable: [] });
  });

  it('has its elements that are no objects set aside, and its records keep every digit', () => {
    const sent = '[{"id":9223372036854775807},1.50,"x",null,[{"a":1.0}],true,{"x":1.0}]';
    const { recordCount, records, unreadable } = normalize(sent);
    expect(recordCount).toBe(7);
    expect(records).toBe('[{"id":9223372036854775807},{"x":1.0}]');
    expect(setAside(sent)).toEqual(['1.50', '"x"', 'null', '[{"a":1.0}]', 'true']);
    expect(new Set(unreadable.map(({ reason }) => reason))).toEqual(
      new Set(['the record is not a JSON object']),
    );
  });

  it('loses no part, whatever its elements are', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(record, fc.jsonValue())), (elements) => {
        const { recordCount, records, unreadable } = normalize(JSON.stringify(elements));
        const kept: unknown = JSON.parse(records);
        const isObject = (value: unknown) =>
          typeof value === 'object' && value !== null && !Array.isArray(value);
        expect(recordCount).toBe(elements.length);
        expect(JSON.stringify(kept)).toBe(JSON.stringify(elements.filter(isObject)));
        expect(unreadable.map(({ content }) => Buffer.from(content, 'base64').toString())).toEqual(
          elements.filter((element) => !isObject(element)).map((element) => JSON.stringify(element)),
        );
      }),
    );
  });

  it('may begin with a byte order mark', () => {
    expect(normalize('\uFEFF{"a":1}')).toEqual({ recordCount: 1, records: '[{"a":1}]', unreadable: [] });
  });

  it('may hold any character of Unicode, NUL and half surrogates as escapes', () => {
    const sent = String.raw`{"😀":"日本\u0000\ud800\n"}`;
    expect(normalize(sent).records).toBe(`[${sent}]`);
  });
});

describe('a body that is no records', () => {
  it.each([
    ['', 'not JSON'],
    ['{"a":1}{"b":2}', 'not JSON'],
    ['{"a":1}\n{"b":2}', 'not JSON'],
    ["{'a':1}", 'not JSON'],
    ['{"a":NaN}', 'not JSON'],
    ['{"a":01}', 'not JSON'],
    ['a=1&b=2', 'not JSON'],
    ['null', 'neither a JSON object nor an array'],
    ['"text"', 'neither a JSON object nor an array'],
    ['12345678901234567890', 'neither a JSON object nor an array'],
  ])('%j is refused: it is %s', (text, reason) => {
    expect(() => normalize(text)).toThrow(UnreadableError);
    expect(() => normalize(text)).toThrow(`the body is ${reason}`);
  });

  it.each([
    [[0xff]],
    [[0x7b, 0x22, 0xc3, 0x22, 0x7d]],
    [[0xed, 0xa0, 0x80]],
    [[0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ])('the bytes %j are refused: they are not UTF-8', (bytes) => {
    expect(() => normalizeBody(Buffer.from(bytes))).toThrow(new UnreadableError('the body is not UTF-8'));
  });

  it('ends where JSON is cut off, at whatever byte', () => {
    const whole = Buffer.from('[{"a":[1.5,"é",{"b":null}],"c":true}]');
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => normalizeBody(whole.subarray(0, length))).toThrow(UnreadableError);
    }
    expect(normalizeBody(whole).recordCount).toBe(1);
  });

  it('is kept byte for byte', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const { recordCount, records, unreadable } = unreadableBody(Buffer.from(bytes), 'why');
        expect({ recordCount, records }).toEqual({ recordCount: 1, records: '[]' });
        expect(unreadable.map(({ reason, content }) => [reason, Buffer.from(content, 'base64')])).toEqual([
          ['why', Buffer.from(bytes)],
        ]);
      }),
    );
  });
});

it('never fails otherwise: any bytes are records or refused as unreadable', () => {
  const bytes = fc.oneof(
    fc.uint8Array().map((all) => Buffer.from(all)),
    fc.stringMatching(/^[[\]{}",:0.1e\-\\u anl]*$/).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, (body) => {
      try {
        expect(normalizeBody(body).recordCount).toBeGreaterThanOrEqual(0);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
      }
    }),
    { numRuns: 2_000 },
  );
});
