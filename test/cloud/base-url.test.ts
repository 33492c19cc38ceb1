import { expect, test } from 'vitest';
import { parseBaseUrl } from '../../src/cloud/addresses.ts';

test.each([
  ['https://api.cloud.test', 'https://api.cloud.test'],
  ['https://api.cloud.test/', 'https://api.cloud.test'],
  ['http://127.0.0.1:8099/xapi/v1//', 'http://127.0.0.1:8099/xapi/v1'],
])('%s is the address %s', (text, address) => {
  expect(parseBaseUrl(text)).toBe(address);
});

test.each([
  'http://api.cloud.test',
  'http://10.0.0.1',
  'http://127.0.0.1.cloud.test',
  'http://localhost.test',
])('credentials would be read on the way to %s, which is refused', (text) => {
  expect(() => parseBaseUrl(text)).toThrow(/must start with https/);
});

test.each(['api.cloud.test', 'ftp://api.cloud.test', '', 'https://h.test/?a=1', 'https://h.test/#a'])(
  'what is not a plain http address is refused: %j',
  (text) => {
    expect(() => parseBaseUrl(text)).toThrow(TypeError);
  },
);

test.each(['https://admin:hunter2@h.test/', 'admin:hunter2@h.test', 'ftp://admin:hunter2@h.test'])(
  'a password in the address is refused and not repeated: %s',
  (text) => {
    expect(() => parseBaseUrl(text)).toThrow(expect.not.stringContaining('hunter2'));
    expect(() => parseBaseUrl(text)).toThrow(/cloud's address/);
  },
);
