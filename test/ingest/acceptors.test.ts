import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createAcceptors } from '../../src/ingest/acceptors.ts';
import { trackConnections } from '../../src/ingest/connections.ts';
import { listen } from '../support/listen.ts';

const opened: { close(): unknown }[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const one of opened.splice(0)) one.close();
});

function open(maxConnections: number) {
  const server = createServer();
  const acceptors = createAcceptors(server);
  trackConnections(server, 0, maxConnections);
  opened.push(server, acceptors);
  let accepted = 0;
  server.on('connection', ({ destroyed }: Socket) => (accepted += destroyed ? 0 : 1));
  return { acceptors, accepted: () => accepted };
}

function connectTo(port: number, count: number): Socket[] {
  const made = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  sockets.push(...made);
  return made;
}

it('accept many connections in few turns of the event loop', async () => {
  const { acceptors, accepted } = open(2_048);
  const port = await acceptors.listen(0, '127.0.0.1');
  await Promise.all(connectTo(port, 64).map((socket) => once(socket, 'connect')));
  let turns = 0;
  while (accepted() < 64) {
    turns += 1;
    await new Promise(setImmediate);
  }
  expect(turns).toBeLessThan(48);
});

it('refuse a port that another server listens on, whether it shares the port or not', async () => {
  const sharing = open(10);
  const port = await sharing.acceptors.listen(0, '127.0.0.1');
  await expect(open(10).acceptors.listen(port, '127.0.0.1')).rejects.toThrow('EADDRINUSE');
  const alone = createServer();
  opened.push(alone);
  const taken = await listen(alone);
  await expect(open(10).acceptors.listen(taken, '127.0.0.1')).rejects.toThrow('EADDRINUSE');
});
