import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { startProxy } from './proxy.ts';

/** An echo server behind a proxy. */
async function startEcho() {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received.push(chunk.toString());
      socket.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const proxy = await startProxy(typeof address === 'object' && address !== null ? address.port : 0);
  onTestFinished(() => proxy.close());
  return { proxy, received };
}

function join(port: number): { socket: Socket; echoed: () => string } {
  const socket = connect(port, '127.0.0.1');
  let echoed = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => (echoed += chunk.toString()));
  onTestFinished(() => void socket.destroy());
  return { socket, echoed: () => echoed };
}

test('a stalled network closes nothing and gives everything once it is healed', async () => {
  const { proxy, received } = await startEcho();
  const old = join(proxy.port);
  old.socket.write('a');
  await waitFor(() => old.echoed() === 'a');

  proxy.stall();
  const fresh = join(proxy.port);
  old.socket.write('b');
  fresh.socket.write('c');
  await expect(waitFor(() => received.length > 1, 200)).rejects.toThrow('still not so');
  expect([old.socket.destroyed, fresh.socket.destroyed]).toEqual([false, false]);

  proxy.heal();
  await waitFor(() => old.echoed() === 'ab' && fresh.echoed() === 'c');
});

test('a resetting network ends what there is and what comes, until it is healed', async () => {
  const { proxy } = await startEcho();
  const old = join(proxy.port);
  old.socket.write('a');
  await waitFor(() => old.echoed() === 'a');
  proxy.reset();
  await waitFor(() => old.socket.destroyed);
  const refused = join(proxy.port);
  await waitFor(() => refused.socket.destroyed);

  proxy.heal();
  const fresh = join(proxy.port);
  fresh.socket.write('a');
  await waitFor(() => fresh.echoed() !== '');
  expect(fresh.echoed()).toBe('a');
});
