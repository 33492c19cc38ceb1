import { randomBytes } from 'node:crypto';
import { brotliCompressSync, constants } from 'node:zlib';

/** A body that is made to cost more than it looks like, as it is sent. */
export interface HostileBody {
  readonly sent: Buffer<ArrayBuffer>;
  readonly encoding: 'br' | 'identity';
  /** Whether it is within the limits and becomes events, many of them. */
  readonly isStored: boolean;
}

const MIB = 1024 * 1024;
const SIZE = 10 * MIB - 1_000;

const brotli = (text: string | Buffer, isStored = false): HostileBody => ({
  sent: Buffer.from(
    brotliCompressSync(text, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 },
    }),
  ),
  encoding: 'br',
  isStored,
});
const plain = (text: string, isStored = false): HostileBody => ({
  sent: Buffer.from(text),
  encoding: 'identity',
  isStored,
});

const randomRecords = (count: number) => {
  const record = () => `{"description":"${randomBytes(1.4 * MIB).toString('base64')}"}`;
  return `[${Array.from({ length: count }, record).join(',')}]`;
};
const list = (element: string, count: number) => `[${Array(count).fill(element).join(',')}]`;
const fill = (element: string) => list(element, Math.floor(SIZE / (element.length + 1)));

/** Records of before any erasure, of 1.9 MB each, whose texts cost time to compare with names. */
const oldTexts = ['a b c d ', '\u0301\u0316', '.', 'a', 'ff:fe:1 '].map((text) => {
  const description = `x${text.repeat(1_900_000 / Buffer.byteLength(text))}x`;
  return JSON.stringify({ timeStamp: Date.UTC(2026, 2, 1), description });
});

/** By what they are made of. Each is at most 10 MiB, as sent and inflated, the default of MAX_BODY_BYTES. */
export const HOSTILE_BODIES: Readonly<Record<string, () => HostileBody>> = {
  '1.7 million 1e400 by brotli': () => brotli(list('1e400', 1_700_000)),
  'as many exact numbers as allowed, in records': () => brotli(list('{"code":1e400}', 49_000), true),
  'exact numbers in 10 MiB of records': () =>
    brotli(fill(`{"a":[${Array(9_999).fill('1.0').join(',')}]}`), true),
  'as many records as 10 MiB may have': () => brotli(fill(`{"a":"${'x'.repeat(42)}"}`), true),
  'records beyond a limit': () => brotli(list(`{"${'n'.repeat(5_000)}":[[[[]]]]}`, 100), true),
  'brackets that never close, by brotli': () => brotli(Buffer.alloc(SIZE, '[')),
  'an array of nothing': () => plain(fill('[]')),
  'an array of empty records': () => brotli(list('{}', 66_000), true),
  '100,000 ones by brotli': () => brotli(list('1', 100_000)),
  'a hundred ones': () => plain(list('1', 100)),
  'blanks by brotli': () => brotli(`[${' '.repeat(SIZE)}]`, true),
  'one member, many times': () => brotli(`{${Array(90_000).fill('"a":1').join(',')}}`, true),
  'many members': () =>
    brotli(`{${Array.from({ length: 40_000 }, (_, n) => `"m${n}":${n}.0`).join(',')}}`, true),
  'observations that share a record': () =>
    brotli(
      `[${`{"apMac":"aabbcc001122","observations":${list('{"x":1.0}', 9_000)}}`.repeat(4).replaceAll('}{', '},{')}]`,
      true,
    ),
  'one record of 10 MiB': () => plain(`[{"description":"${'x'.repeat(SIZE - 50)}"}]`),
  'records of 2 MiB full of quotes': () =>
    plain(list(`{"description":"${'\\"'.repeat(MIB - 50)}"}`, 4), true),
  'random text that hardly compresses': () => plain(randomRecords(2), true),
  'more of it than the queue accepts': () => plain(randomRecords(5)),
  'old records of letters, marks and points': () => brotli(`[${oldTexts.join(',')}]`, true),
  'old records of single letters': () => plain(list(oldTexts[0] ?? '', 5), true),
  'bytes that are not JSON': () => plain(randomBytes(SIZE / 2).toString('base64')),
};
