import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpError } from '../../src/errors.ts';
import { UnreadableError } from '../../src/ingest/normalize.ts';
import { chooseDecoder, readBody } from '../../src/ingest/read-body.ts';
import { waitFor } from '../support/wait-for.ts';

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

  it.each([undefined, '', 'identity', ' Identity '])(
    'leaves a body of encoding %j as it came',
    async (encoding) => {
      const body = Buffer.from([0, 1, 255]);
      expect(await chooseDecoder(encoding)(body, LIMIT)).toBe(body);
    },
  );

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

  it.each(ENCODINGS)(
    'lets %s inflate to the limit, and refuses one byte more with 413',
    async (encoding, compress) => {
      const decode = chooseDecoder(encoding);
      expect(await decode(compress(Buffer.alloc(LIMIT)), LIMIT)).toHaveLength(LIMIT);
      await expect(decode(compress(Buffer.alloc(LIMIT + 1)), LIMIT)).rejects.toMatchObject({
        name: 'HttpError',
        status: 413,
      });
    },
  );

  it.each(ENCODINGS)('stops a bomb of 50 MB in %s at the limit', async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(50_000_000));
    const before = process.memoryUsage().rss;
    await expect(chooseDecoder(encoding)(bomb, LIMIT)).rejects.toMatchObject({ status: 413 });
    expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000);
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

describe('readBody', () => {
  let server: Server;
  let read: Promise<Buffer>;
  let onBytes: (bytes: number) => void;

  beforeEach(async () => {
    server = createServer();
    onBytes = () => undefined;
    read = new Promise((resolve, reject) => {
      server.once('request', (request: IncomingMessage, response) => {
        readBody(request, LIMIT, onBytes).then(resolve, reject);
        read.catch(() => undefined).finally(() => response.end());
      });
    });
    read.catch(() => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Sends bytes as they are, in these pieces, over a connection of its own. */
  function send(...pieces: readonly (string | Buffer)[]) {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server does not listen');
    const socket = connect(address.port, '127.0.0.1').on('error', () => undefined);
    for (const piece of pieces) socket.write(piece);
    return socket;
  }

  const chunk = (data: Buffer) =>
    Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);
  const CHUNKED = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('reads a body up to the limit, by its length or in chunks', async () => {
    send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${LIMIT}\r\n\r\n`, Buffer.alloc(LIMIT, 97));
    expect(await read).toEqual(Buffer.alloc(LIMIT, 97));
  });

  it('reads chunks one after another', async () => {
    send(CHUNKED, chunk(Buffer.from('ab')), chunk(Buffer.from([0, 255])), '0\r\n\r\n');
    expect(await read).toEqual(Buffer.from([97, 98, 0, 255]));
  });

  it('puts pieces together, however they are cut', async () => {
    const pieces = Array.from({ length: 100 }, (_, n) => Buffer.alloc(1 + (n % 17), n));
    send(CHUNKED, ...pieces.map(chunk), '0\r\n\r\n');
    expect(await read).toEqual(Buffer.concat(pieces));
  });

  it('tells of all bytes as they come, not as their length was announced', async () => {
    let told = 0;
    onBytes = (bytes) => {
      told += bytes;
    };
    const sender = send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 700\r\n\r\n', Buffer.alloc(300));
    await waitFor(() => told >= 300);
    sender.write(Buffer.alloc(400));
    await read;
    expect(told).toBeGreaterThanOrEqual(700);
  });

  it('stops reading when it is told to', async () => {
    onBytes = () => {
      throw new HttpError(503, 'X', 'no room');
    };
    send(CHUNKED, chunk(Buffer.alloc(10)));
    await expect(read).rejects.toMatchObject({ status: 503 });
  });

  it('refuses a longer body by its length alone, before a byte of it has come', async () => {
    send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`);
    await expect(read).rejects.toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' });
  });

  it('refuses a longer body in chunks by the bytes it has read, without waiting for the end', async () => {
    send(CHUNKED, chunk(Buffer.alloc(LIMIT)), chunk(Buffer.alloc(1)));
    await expect(read).rejects.toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' });
  });

  it('refuses a body that ends before it is complete', async () => {
    const socket = send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n', 'abc');
    await once(server, 'request');
    socket.destroy();
    await expect(read).rejects.toMatchObject({ status: 400, code: 'BODY_INCOMPLETE' });
    await expect(read).rejects.toThrow(HttpError);
  });
});
