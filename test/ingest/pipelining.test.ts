import type { RequestListener, ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpListener } from '../../src/ingest/http-listener.ts';
import { waitFor } from '../support/wait-for.ts';
import { connectRaw, head, SECRET, serve } from './serve.ts';

const GET = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

const statusesOf = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

/** A listener that records the paths of the requests that reach the app. */
async function listen(app: RequestListener): Promise<{ port: number; paths: string[] }> {
  const paths: string[] = [];
  const listener = createHttpListener((request, response) => {
    paths.push(request.url ?? '');
    app(request, response);
  }, undefined);
  onTestFinished(() => listener.close());
  return { port: await listener.listen(0, '127.0.0.1'), paths };
}

/** Requests for /1, /2 and so on, in one write. */
const requests = (count: number) =>
  Array.from({ length: count }, (_, n) => GET.replace('/healthz', `/${n + 1}`)).join('');

describe('requests in one write', () => {
  it('are answered in order, up to 8', async () => {
    const { port } = await listen((request, response) => void response.end(`<${request.url ?? ''}>`));
    const sender = connectRaw(port, requests(8));
    await waitFor(() => sender.received().includes('</8>'));
    expect([...sender.received().matchAll(/<\/(\d)>/g)].map(([, n]) => n).join('')).toBe('12345678');
    sender.socket.write(requests(8));
    await waitFor(() => sender.received().match(/<\/8>/g)?.length === 2);
    expect(sender.socket.destroyed).toBe(false);
  });

  it('are passed on at the same time, so that none waits for another one', async () => {
    const inHand: ServerResponse[] = [];
    const { port, paths } = await listen((_request, response) => void inHand.push(response));
    const sender = connectRaw(port, requests(8));
    await waitFor(() => inHand.length === 8);
    for (const response of inHand.toReversed()) response.end();
    await waitFor(() => statusesOf(sender.received()).length === 8);
    expect(paths).toEqual(['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8']);
  });

  it('beyond 8 end the connection, and only the first one has reached the app', async () => {
    const { port, paths } = await listen((_request, response) => void response.end());
    const sender = connectRaw(port, requests(9));
    await sender.closed;
    expect(paths).toEqual(['/1']);
  });

  it('beyond 8 end the connection also when they come one by one and none is answered', async () => {
    const { port, paths } = await listen(() => undefined);
    const sender = connectRaw(port);
    for (let n = 1; n <= 8; n += 1) {
      sender.socket.write(GET);
      await waitFor(() => paths.length === n);
    }
    sender.socket.write(GET);
    await sender.closed;
    expect(paths).toHaveLength(8);
  });

  it.each([
    ['a GET', GET],
    ['an expectation that nobody knows', GET.replace('\r\n\r\n', '\r\nExpect: x\r\n\r\n')],
    ['no Host header', 'GET / HTTP/1.1\r\n\r\n'],
  ])('a flood costs milliseconds, not seconds: 100 connections with 1,700 of %s', async (_, request) => {
    const { port, paths } = await listen((_request, response) => void response.end());
    const bytes = request.repeat(1_700);
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: 100 }, () => connectRaw(port, bytes).closed));
    const { user } = process.cpuUsage(before);
    // Parsing all of them takes 6 s and answering them 8 s; this takes 0.3 s, the clients included.
    expect(user / 1_000).toBeLessThan(1_500);
    expect(paths.length).toBeLessThanOrEqual(100);
  });
});

describe('nothing reaches the app', () => {
  it('after an answer with Connection: close', async () => {
    const { port, paths } = await listen((_request, response) => {
      response.setHeader('Connection', 'close');
      response.end();
    });
    const sender = connectRaw(port, requests(8));
    await sender.closed;
    expect(paths).toEqual(['/1']);
    expect(statusesOf(sender.received())).toEqual([200]);
  });

  it('after an answer with Connection: close that comes later than the requests behind it', async () => {
    const first = Promise.withResolvers<ServerResponse>();
    const { port, paths } = await listen((_request, response) => first.resolve(response));
    const sender = connectRaw(port, requests(1));
    const response = await first.promise;
    response.setHeader('Connection', 'close');
    // The answer waits in the memory of the process until its end, as for a client that does not read.
    response.write('beginning');
    sender.socket.write(requests(3));
    const sent = requests(1).length + requests(3).length;
    await waitFor(() => response.socket?.bytesRead === sent);
    await new Promise(setImmediate);
    response.end();
    await sender.closed;
    expect(paths).toEqual(['/1']);
  });

  it.each([
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a request with two hosts', GET.replace('\r\n\r\n', '\r\nHost: y\r\n\r\n'), 400],
    ['an unknown expectation', GET.replace('\r\n\r\n', '\r\nExpect: x\r\n\r\n'), 417],
  ])('behind %s: it would be stored and not acknowledged', async (_, refused, status) => {
    const serving = await serve();
    const sender = connectRaw(serving.port, `${refused}${head('Content-Length: 2')}{}`);
    await sender.closed;
    expect(statusesOf(sender.received())).toEqual([status]);
    expect(serving.deliveries).toEqual([]);
  });
});

describe('100-continue', () => {
  const expecting = (secret: string, length: number) =>
    head('Expect: 100-continue', `Content-Length: ${length}`).replace(SECRET, secret);

  it('is sent once the secret is verified', async () => {
    const serving = await serve();
    const sender = connectRaw(serving.port, expecting(SECRET, 2));
    await waitFor(() => sender.received() === 'HTTP/1.1 100 Continue\r\n\r\n');
    sender.socket.write('{}');
    await waitFor(() => statusesOf(sender.received()).length === 2);
    expect(statusesOf(sender.received())).toEqual([100, 200]);
    expect(serving.deliveries).toHaveLength(1);
  });

  it.each([
    ['a wrong secret', expecting('wrong-wrong-wrong-wrong', 2), 401],
    ['too large a body', expecting(SECRET, 200_000), 413],
  ])(
    'is not sent for %s: the final answer comes at once, and the connection ends',
    async (_, bytes, status) => {
      const serving = await serve();
      const sender = connectRaw(serving.port, bytes);
      await sender.closed;
      expect(statusesOf(sender.received())).toEqual([status]);
      expect(sender.received()).toContain('\r\nConnection: close\r\n');
      expect(serving.deliveries).toEqual([]);
    },
  );
});

it('the Host header may be left out in HTTP/1.0', async () => {
  const serving = await serve();
  const start = head('Content-Length: 2').replace('Host: x\r\n', '').replace('HTTP/1.1', 'HTTP/1.0');
  const sender = connectRaw(serving.port, `${start}{}`);
  await sender.closed;
  expect(statusesOf(sender.received())).toEqual([200]);
});
