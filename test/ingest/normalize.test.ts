import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalizeBody, UnreadableError } from '../../src/ingest/normalize.ts';

/** Whether it can be read or not, the server tests show what becomes of a body: here is what its text comes to. */
it.each([
  ['one object', ' {"b": 1.0,\n "a":\t12345678901234567890, "__proto__":{} }\r\n', undefined, 1],
  ['an array', ' [ {"id":9223372036854775807} ,{},\n{"x":1e5} ] ', undefined, 3],
  ['any character', String.raw`[{"😀":"日本\u0000\ud800\n"}]`, undefined, 1],
  ['a byte order mark', '\uFEFF{"a":1}', '[{"a":1}]', 1],
  [
    'other elements',
    '[{"id":9007199254740993},1.50 ,"x",[{}],{"x":1.0}]',
    '[{"id":9007199254740993},{"x":1.0}]',
    5,
  ],
])('a body with %s keeps the text of its records', (_, sent, kept, count) => {
  const usual = sent.trimStart().startsWith('[') ? sent : `[${sent}]`;
  expect(normalizeBody(Buffer.from(sent))).toMatchObject({ records: kept ?? usual, recordCount: count });
});

it('a body loses no part, whatever its elements are', () => {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const element = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue());
  fc.assert(
    fc.property(fc.array(element), (elements) => {
      const { recordCount, records, unreadable } = normalizeBody(Buffer.from(JSON.stringify(elements)));
      const setAside = unreadable.map(({ content }) => Buffer.from(content, 'base64').toString());
      const [objects, others] = [elements.filter(isObject), elements.filter((one) => !isObject(one))];
      expect(recordCount).toBe(elements.length);
      expect(records).toBe(JSON.stringify(objects));
      expect(setAside).toEqual(others.map((one) => JSON.stringify(one)));
    }),
  );
});

it('a body ends where JSON is cut off, at whatever byte', () => {
  const whole = Buffer.from('[{"a":[1.5,"é",{"b":null}],"c":true}]');
  for (let length = 0; length < whole.length; length += 1) {
    expect(() => normalizeBody(whole.subarray(0, length))).toThrow(UnreadableError);
  }
});
