import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { trackConnections } from '../../src/ingest/connections.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/wait-for.ts';
import { connectRaw, head } from './serve.ts';

/** Longer than any test may take: only what does not wait for it ends in time. */
const NEVER = 1_000_000;

/** A server whose requests stay in hand until the test answers them. */
async function holding(graceMs: number, server = createServer()) {
  const inHand: ServerResponse[] = [];
  let accepted = 0;
  let ended = false;
  server.once('close', () => (ended = true));
  server.on('connection', () => (accepted += 1));
  const { close } = trackConnections(server, graceMs, Infinity);
  server.on('request', (_request, response) => void inHand.push(response));
  onTestFinished(() => server.closeAllConnections());
  const port = await listen(server);
  return { close, inHand, accepted: () => accepted, ended: () => ended, port };
}

const POST = head('Content-Length: 2') + '{}';

describe('closing', () => {
  it('answers what is in hand, and lets its sender know that the connection ends', async () => {
    const { close, inHand, ended, port } = await holding(NEVER);
    const sender = connectRaw(port, POST);
    await waitFor(() => inHand.length === 1);
    let closed = false;
    const closing = close().finally(() => {
      closed = true;
    });
    await new Promise(setImmediate);
    expect(closed).toBe(false);
    inHand[0]?.end('answered');
    await closing;
    expect(ended()).toBe(true);
    await sender.closed;
    expect(sender.received()).toMatch(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n[^]*answered/);
  });

  it('answers a request that comes over an open connection while others are in hand', async () => {
    const { close, inHand, accepted, port } = await holding(NEVER);
    const first = connectRaw(port, POST);
    await waitFor(() => inHand.length === 1);
    const half = connectRaw(port, POST.slice(0, 20));
    await waitFor(() => accepted() === 2);
    const closing = close();
    half.socket.write(POST.slice(20));
    await waitFor(() => inHand.length === 2);
    inHand[0]?.end('one');
    inHand[1]?.end('two');
    await closing;
    await Promise.all([first.closed, half.closed]);
    expect(half.received()).toMatch(/\r\nConnection: close\r\n/);
    expect([first.received(), half.received()]).toEqual([
      expect.stringMatching(/one$/),
      expect.stringMatching(/two$/),
    ]);
  });

  it.each([
    ['says nothing', [], () => createServer()],
    ['has sent part of its headers', [POST.slice(0, 20)], () => createServer()],
    ['never begins its TLS handshake', [], () => createTlsServer()],
  ])('does not wait for a connection that %s', async (_, pieces, create) => {
    const { close, accepted, port } = await holding(NEVER, create());
    const silent = connectRaw(port, ...pieces);
    await waitFor(() => accepted() === 1);
    await close();
    await silent.closed;
    expect(silent.received()).toBe('');
  });

  it('meets a request that crosses the end of a kept connection with an end, not with a reset', async () => {
    const { close, inHand, port } = await holding(NEVER);
    const { socket, received } = connectRaw(port, POST);
    await waitFor(() => inHand.length === 1);
    inHand[0]?.end();
    await waitFor(() => received() !== '');
    const ended = once(socket, 'end').then(() => 'an end');
    const failed = once(socket, 'error').then(([error]: Error[]) => error);
    // It has arrived at this machine, and the server has not read it yet.
    socket.write(POST);
    const closing = close();
    expect(await Promise.race([ended, failed])).toBe('an end');
    await closing;
  });

  it('cuts off what is still in hand when the grace is over', async () => {
    const { close, inHand, port } = await holding(50);
    const stalled = connectRaw(port, head('Content-Length: 100'), '{');
    await waitFor(() => inHand.length === 1);
    await close();
    await stalled.closed;
    expect(stalled.received()).toBe('');
  });
});
