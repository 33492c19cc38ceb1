import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { auditRecord } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIT, chunk, connectRaw, head, serve } from './serve.ts';
import type { Serving } from './serve.ts';

const GOOD = JSON.stringify([auditRecord()]);

/** What must hold after anything hostile: the next good delivery goes through. */
async function expectStillServing({ post, deliveries }: Serving): Promise<void> {
  const before = deliveries.length;
  expect((await post(GOOD)).status).toBe(200);
  expect(deliveries.slice(before)).toMatchObject([{ records: GOOD, recordCount: 1, unreadable: [] }]);
}

const repeat = (text: string, times: number) => Array(times).fill(text).join(',');

describe('a hostile body gets its answer, and the next delivery is taken', () => {
  it.each([
    ['blank', 400, ' \n\t'],
    ['of UTF-16', 400, Buffer.from(GOOD, 'utf16le')],
    ['of half a character', 400, Buffer.from('{"a":"é"}').subarray(0, 7)],
    ['of nested arrays', 400, `${'['.repeat(40_000)}${']'.repeat(40_000)}`],
    ['of nested objects', 400, `${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`],
    ['of brackets that never close', 400, '['.repeat(90_000)],
    ['of a huge number', 200, `{"id":${'9'.repeat(90_000)}}`],
    ['of a huge exponent', 200, '{"id":1e999999999,"x":-1E-999999999}'],
    ['of many huge exponents', 200, `[${repeat('{"x":1e1000}', 5_000)}]`],
    ['of NUL and half surrogates', 200, String.raw`{"a\u0000":"\u0000\ud800","\udfff":["\udc00"]}`],
    ['of a bare NUL', 400, '{"a":"\u0000"}'],
    ['of __proto__', 200, '[{"__proto__":{"isAdmin":true}},{"constructor":{"prototype":{"isAdmin":true}}}]'],
    ['of equal keys', 200, `{${repeat('"a":1', 10_000)}}`],
    ['of 10,000 records', 200, `[${repeat('{"a":1}', 10_000)}]`],
    ['of 100 elements that are not objects', 200, `[${repeat('1.0', 100)}]`],
    ['of 10,000 elements that are not objects', 400, `[${repeat('1.0', 10_000)}]`],
    ['of one long string', 200, `{"a":"${'\\"'.repeat(45_000)}"}`],
    ['of white space', 200, `[${' '.repeat(99_000)}]`],
  ])('%s: %i', async (_, status, body) => {
    const serving = await serve();
    expect((await serving.post(body)).status).toBe(status);
    expect(serving.deliveries).toHaveLength(1);
    await expectStillServing(serving);
    expect('isAdmin' in {}).toBe(false);
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(20_000_000, 0x20))],
    ['gzip', gzipSync(gzipSync(GOOD))],
    ['gzip', Buffer.concat([gzipSync(''), Buffer.alloc(1_000)])],
    ['br', brotliCompressSync(Buffer.alloc(20_000_000, 0x20))],
    ['zstd', zstdCompressSync(Buffer.alloc(20_000_000, 0x20))],
    ['zstd', Buffer.from('28b52ffd0488', 'hex')],
    ['br', Buffer.alloc(1_000, 0xff)],
    ['deflate', Buffer.alloc(1_000, 0x78)],
  ])('compressed with %s (%#): a 4xx', async (encoding, body) => {
    const serving = await serve();
    const { status } = await serving.post(body, { 'content-encoding': encoding });
    expect([400, 413]).toContain(status);
    await expectStillServing(serving);
  });
});

describe('a malformed request is answered or cut off, and the next delivery is taken', () => {
  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['TLS on a plain port', Buffer.from('16030100c8010000c40303', 'hex'), 400],
    ['no Host', `POST ${AUDIT} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}`, 400],
    ['two lengths', head('Content-Length: 2', 'Content-Length: 3') + '{}', 400],
    ['a length beside chunks', `${head('Content-Length: 2', 'Transfer-Encoding: chunked')}0\r\n\r\n`, 400],
    ['two equal lengths', head('Content-Length: 2', 'Content-Length: 2') + '{}', 400],
    ['chunks beside a length', `${head('Transfer-Encoding: chunked', 'Content-Length: 2')}0\r\n\r\n`, 400],
    ['chunked that is not the last encoding', head('Transfer-Encoding: chunked, identity') + '{}', 400],
    ['an encoding that only looks like chunked', head('Transfer-Encoding: xchunked') + '{}', 400],
    ['a coding that is not decoded', head('Transfer-Encoding: gzip, chunked') + '2\r\n{}\r\n0\r\n\r\n', 400],
    ['a second Host', head('Host: y', 'Content-Length: 2') + '{}', 400],
    [
      'a second Host in HTTP/1.0',
      head('Host: y', 'Content-Length: 2').replace('HTTP/1.1', 'HTTP/1.0') + '{}',
      400,
    ],
    ['a space before the colon', head('Content-Length : 2') + '{}', 400],
    ['a length with a sign', head('Content-Length: +2') + '{}', 400],
    ['a folded header', head('X: a', ' b', 'Content-Length: 2') + '{}', 400],
    ['lines that end with a bare LF', head('Content-Length: 2').replaceAll('\r\n', '\n') + '{}', 400],
    ['one line that ends with a bare LF', head('X: a\nContent-Length: 2') + '{}', 400],
    ['a bare CR in a header', head('X: a\rContent-Length: 2') + '{}', 400],
    ['a chunk that ends with a bare LF', `${head('Transfer-Encoding: chunked')}2\n{}\r\n0\r\n\r\n`, 400],
    ['chunk extensions without end', `${head('Transfer-Encoding: chunked')}2;${'x'.repeat(50_000)}`, 413],
    ['a length below zero', head('Content-Length: -1'), 400],
    ['a length that is no number', head('Content-Length: 2x') + '{}', 400],
    ['a length beyond 64 bits', head('Content-Length: 99999999999999999999') + '{}', 400],
    ['chunks of no size', `${head('Transfer-Encoding: chunked')}xyz\r\n{}\r\n`, 400],
    ['chunks beyond 64 bits', `${head('Transfer-Encoding: chunked')}fffffffffffffffff\r\n`, 400],
    ['a header with a line break', head('X: a\nY: b\r c'), 400],
    ['headers without end', head(`X: ${'x'.repeat(100_000)}`), 431],
    ['thousands of headers', head(...Array<string>(5_000).fill('X: y')), 431],
    ['an unknown method', head().replace('POST', 'STEAL'), 400],
    ['an unknown protocol', head().replace('HTTP/1.1', 'HTTP/9.9'), 400],
    ['an unknown expectation', head('Expect: the-unexpected', 'Content-Length: 2') + '{}', 417],
    ['a path with a NUL', head().replace(AUDIT, '/ingest/\u0000'), 400],
  ])('%s', async (_, bytes, status) => {
    const serving = await serve();
    const sender = connectRaw(serving.port, bytes);
    await waitFor(() => sender.received().startsWith(`HTTP/1.1 ${status} `));
    expect(serving.deliveries).toEqual([]);
    await expectStillServing(serving);
  });

  it('a body that asks for another protocol is a delivery all the same', async () => {
    const serving = await serve();
    const upgrading = connectRaw(
      serving.port,
      head('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'Content-Length: 2'),
      '{}',
    );
    await waitFor(() => upgrading.received().startsWith('HTTP/1.1 200 OK'));
    expect(serving.deliveries).toHaveLength(1);
  });

  it('a body that is cut off is no delivery', async () => {
    const serving = await serve();
    const byLength = connectRaw(serving.port, head('Content-Length: 100'), '{"a":');
    const inChunks = connectRaw(serving.port, head('Transfer-Encoding: chunked'), chunk('{"a":'));
    const ended = connectRaw(serving.port, head('Content-Length: 100'), '{}');
    await expectStillServing(serving);
    byLength.socket.destroy();
    inChunks.socket.resetAndDestroy();
    ended.socket.end();
    await Promise.all([byLength.closed, inChunks.closed, ended.closed]);
    await expectStillServing(serving);
    expect(serving.deliveries).toHaveLength(2);
  });
});

it('a name of a chunk is no part of the body, nor is what follows the last chunk', async () => {
  const serving = await serve();
  const sender = connectRaw(
    serving.port,
    `${head('Transfer-Encoding: chunked')}2;name=value\r\n{}\r\n0\r\nX-Forged: y\r\n\r\n`,
  );
  await waitFor(() => sender.received().startsWith('HTTP/1.1 200 '));
  expect(serving.deliveries).toMatchObject([{ records: '[{}]', bodyBytes: 2 }]);
});

it('a body of pieces of one byte counts as what it takes in memory', async () => {
  const serving = await serve({ maxBodyBytes: 2_000_000 });
  const some = connectRaw(serving.port, head('Transfer-Encoding: chunked'), chunk('{"a":"'));
  some.socket.write(`${chunk('x').repeat(10_000)}${chunk('"}')}0\r\n\r\n`);
  await waitFor(() => some.received().startsWith('HTTP/1.1 200 '));
  expect(serving.deliveries).toMatchObject([{ bodyBytes: 10_008 }]);

  const many = connectRaw(serving.port, head('Transfer-Encoding: chunked'), chunk('{"a":"'));
  const pieces = chunk('x').repeat(10_000);
  for (let n = 0; n < 100 && many.received() === ''; n += 1) {
    await new Promise((resolve) => many.socket.write(pieces, resolve));
  }
  // Who still writes while it is answered may find the connection cut off before it has read the answer.
  await waitFor(() => many.received().startsWith('HTTP/1.1 503 ') || many.socket.destroyed);
  expect(many.received()).not.toContain('HTTP/1.1 200');
});

describe('an error leaves its connection fit for use, or closes it', () => {
  it('the next request of the same connection is answered for itself', async () => {
    const serving = await serve();
    const { socket, received } = connectRaw(serving.port);
    const answers = () => [...received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    for (const [n, body] of ['not JSON', '{}', '', '{}', '1', '{}'].entries()) {
      socket.write(head(`Content-Length: ${body.length}`) + body);
      await waitFor(() => answers().length === n + 1);
    }
    expect(answers()).toEqual(['400', '200', '400', '200', '400', '200']);
  });

  it.each([
    ['a wrong secret', 401, `POST ${AUDIT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n`],
    ['an unknown encoding', 415, head('Content-Encoding: x').slice(0, -2)],
    ['too long a body', 413, head('X: y').slice(0, -2)],
    ['an unknown message type', 404, head('X: y').slice(0, -2).replace('AUDIT_LOG_ALL', 'X')],
  ])('a body that was refused unread is not taken for the next request: %s', async (_, status, start) => {
    const serving = await serve({ maxBodyBytes: 100 });
    const smuggled = head('Content-Length: 2') + '{}';
    const body = smuggled.padStart(150_000, ' ');
    const sender = connectRaw(serving.port, `${start}Content-Length: ${body.length}\r\n\r\n`, body);
    await waitFor(() => sender.received().startsWith(`HTTP/1.1 ${status} `));
    await sender.closed;
    expect(sender.received().match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(serving.deliveries).toEqual([]);
    expect((await serving.post('{}')).status).toBe(200);
  });
});

describe('a slow sender', () => {
  it.each([
    ['says nothing', []],
    ['stops in the middle of its headers', [`POST ${AUDIT} HTTP/1.1\r\nHost:`]],
    ['stops before its body', [head('Content-Length: 1000')]],
    ['stops in the middle of its body', [head('Content-Length: 1000'), '{"a":']],
    ['stops between chunks', [head('Transfer-Encoding: chunked'), chunk('{"a":')]],
    ['stops in the middle of a chunk', [head('Transfer-Encoding: chunked'), 'ff\r\n{']],
  ])('that %s keeps nobody else waiting', async (_, pieces) => {
    const serving = await serve();
    const slow = Array.from({ length: 50 }, () => connectRaw(serving.port, ...pieces));
    await waitFor(() => slow.every(({ socket }) => !socket.connecting && socket.writableLength === 0));
    await expectStillServing(serving);
    expect(slow.map(({ received }) => received())).toEqual(Array(50).fill(''));
  });

  it('that does not read its answers costs others nothing', async () => {
    const serving = await serve();
    const { socket } = connectRaw(serving.port);
    socket.pause();
    for (let n = 1; n <= 60; n += 1) {
      socket.write(head('Content-Length: 1') + 'x');
      await waitFor(() => serving.deliveries.length === n);
    }
    await expectStillServing(serving);
    expect(serving.deliveries).toHaveLength(61);
  });
});
