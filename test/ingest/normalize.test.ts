import { expect, it } from 'vitest';
import { normalizeBody } from '../../src/ingest/normalize.ts';

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
