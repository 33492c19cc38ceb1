import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBaseUrl, path } from '../../src/cloud/addresses.ts';

test.each([
  ['https://api.cloud.test', 'https://api.cloud.test'],
  ['https://api.cloud.test/', 'https://api.cloud.test'],
  ['http://127.0.0.1:8099/xapi/v1//', 'http://127.0.0.1:8099/xapi/v1'],
])('%s is the address %s', (text, address) => {
  expect(parseBaseUrl(text)).toBe(address);
});

test.each([
  // Credentials would be read on the way.
  ['http://api.cloud.test', /must start with https/],
  ['http://127.0.0.1.cloud.test', /must start with https/],
  ['http://localhost.test', /must start with https/],
  ['api.cloud.test', TypeError],
  ['ftp://api.cloud.test', TypeError],
  ['', TypeError],
  ['https://h.test/?a=1', TypeError],
  ['https://h.test/#a', TypeError],
  ['https://admin:hunter2@h.test/', /cloud's address/],
  ['admin:hunter2@h.test', /cloud's address/],
])('%j is refused, and a password in it is not repeated', (text, expected) => {
  expect(() => parseBaseUrl(text)).toThrow(expected);
  expect(() => parseBaseUrl(text)).toThrow(expect.not.stringContaining('hunter2'));
});

test('an identifier of any text stays one segment of a path and reads back as it was', () => {
  const identifier = fc.string({ minLength: 1 }).filter((id) => id !== '.' && id !== '..');
  fc.assert(
    fc.property(identifier, (id) => {
      const segments = new URL(`http://cloud.test${path`/devices/${id}/:cli`}`).pathname.split('/');
      expect([segments.length, segments[3]]).toEqual([4, ':cli']);
      expect(decodeURIComponent(segments[2] ?? '')).toBe(id);
    }),
  );
});

test.each(['', '.', '..'])('an identifier that would change the path is refused: %j', (id) => {
  expect(() => path`/devices/${id}`).toThrow(TypeError);
});
