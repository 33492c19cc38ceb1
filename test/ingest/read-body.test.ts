import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnreadableError } from '../../src/ingest/normalize.ts';
import { chooseDecoder } from '../../src/ingest/read-body.ts';

const LIMIT = 1_000;

const COMPRESSORS = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
} as const;

const ENCODINGS = Object.entries(COMPRESSORS);

describe('chooseDecoder', () => {
  it.each(ENCODINGS)('undoes %s, whatever was compressed', async (encoding, compress) => {
    const decode = chooseDecoder(encoding);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), async (bytes) => {
        expect(await decode(compress(bytes), LIMIT)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('undoes deflate without its zlib header as well', async () => {
    const decode = chooseDecoder('deflate');
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), fc.integer({ min: 0, max: 9 }), async (bytes, level) => {
        expect(await decode(deflateRawSync(bytes, { level }), LIMIT)).toEqual(Buffer.from(bytes));
        expect(await decode(deflateSync(bytes, { level }), LIMIT)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('undoes a gzip body of several members', async () => {
    const body = Buffer.concat([gzipSync('[1,'), gzipSync('2]')]);
    expect(String(await chooseDecoder('gzip')(body, LIMIT))).toBe('[1,2]');
  });

  it.each([undefined, '', 'identity', ' Identity '])('leaves a body of %j as it came', async (encoding) => {
    const body = Buffer.from([0, 1, 255]);
    expect(await chooseDecoder(encoding)(body, LIMIT)).toBe(body);
  });

  it('takes the name of an encoding in any case', async () => {
    expect(String(await chooseDecoder(' GZip ')(gzipSync('x'), LIMIT))).toBe('x');
  });

  it.each(['compress', 'gzip, gzip', 'identity, gzip', '*', 'constructor', 'utf-8'])(
    'refuses %j with 415',
    (encoding) => {
      expect(() => chooseDecoder(encoding)).toThrow(
        expect.objectContaining({ status: 415, code: 'UNSUPPORTED_ENCODING' }),
      );
    },
  );

  it.each(ENCODINGS)('lets %s inflate to the limit, and no byte more: 413', async (encoding, compress) => {
    const decode = chooseDecoder(encoding);
    expect(await decode(compress(Buffer.alloc(LIMIT)), LIMIT)).toHaveLength(LIMIT);
    await expect(decode(compress(Buffer.alloc(LIMIT + 1)), LIMIT)).rejects.toMatchObject({
      name: 'HttpError',
      status: 413,
    });
  });

  it('inflates four bodies at a time: the others wait as they were sent', async () => {
    const LARGE = 10_000_000;
    const large = gzipSync(Buffer.alloc(LARGE));
    let finished = 0;
    const decodes = Array.from({ length: 8 }, async () => {
      await chooseDecoder('gzip')(large, LARGE);
      finished += 1;
    });
    await chooseDecoder('br')(brotliCompressSync('{}'), LIMIT);
    // A ninth has its turn once five have had theirs.
    expect(finished).toBeGreaterThanOrEqual(5);
    await Promise.all(decodes);
  });

  it.each(ENCODINGS)('calls a body that is not %s, or is cut off, unreadable', async (encoding, compress) => {
    const decode = chooseDecoder(encoding);
    const whole = compress('{"a":"something to compress, something to compress"}');
    for (const body of [
      Buffer.from('{"a":1}'),
      whole.subarray(0, -6),
      whole.subarray(0, 3),
      Buffer.alloc(0),
    ]) {
      await expect(decode(body, LIMIT)).rejects.toThrow(UnreadableError);
    }
  });
});
