import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpListener, LIMITS } from '../../src/ingest/http-listener.ts';
import { waitFor } from '../support/wait-for.ts';
import { chunk, connectRaw, head } from './serve.ts';

/** A listener with short limits, whose requests are answered once their body is complete. */
async function listen(limits: Partial<typeof LIMITS>): Promise<number> {
  const server = createHttpListener(
    (request, response) => request.resume().once('end', () => response.end('answered')),
    undefined,
    { ...LIMITS, ...limits },
  );
  onTestFinished(() => server.close());
  return server.listen(0, '127.0.0.1');
}

const SHORT = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 };

describe('the listener', () => {
  it.each([
    ['nothing', []],
    ['half of its headers', [head().slice(0, 20)]],
    ['its headers and no body', [head('Content-Length: 10')]],
    ['half of its body', [head('Content-Length: 10'), '{"a":']],
    ['chunks without end', [head('Transfer-Encoding: chunked'), chunk('{"a":')]],
  ])('cuts a sender off that has sent %s in time', async (_, pieces) => {
    const port = await listen(SHORT);
    const sender = connectRaw(port, ...pieces);
    await sender.closed;
    expect(sender.received()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('cuts a sender off that goes on, a byte at a time, beyond the time of a whole request', async () => {
    const port = await listen(SHORT);
    const sender = connectRaw(port, head('Content-Length: 100000'));
    const dribble = setInterval(() => sender.socket.write('x'), 20);
    onTestFinished(() => clearInterval(dribble));
    await sender.closed;
    expect(sender.received()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('accepts no connections beyond the limit, and another after one has ended', async () => {
    const port = await listen({ maxConnections: 3 });
    const served = async () => {
      const sender = connectRaw(port, head('Content-Length: 0'));
      await Promise.race([sender.closed, waitFor(() => sender.received().includes('answered'))]);
      return { ...sender, isServed: sender.received() !== '' };
    };
    const senders = [await served(), await served(), await served(), await served()];
    expect(senders.map(({ isServed }) => isServed)).toEqual([true, true, true, false]);
    senders[0]?.socket.destroy();
    await waitFor(async () => (await served()).isServed);
  });

  /** It relies on the parser of Node.js, which is not documented: another version may need another way. */
  it('parses no request after the one that ended its connection, though all came in one write', async () => {
    const server = createHttpListener(() => undefined, undefined);
    onTestFinished(() => server.close());
    const port = await server.listen(0, '127.0.0.1');
    let parsed = 0;
    const count = () => (parsed += 1);
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const sender = connectRaw(port, head('Content-Length: 0').repeat(300));
    await sender.closed;
    expect(parsed).toBeGreaterThan(1);
    expect(parsed).toBeLessThan(20);
  });
});
