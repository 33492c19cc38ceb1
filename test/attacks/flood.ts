import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

/** A flood of pipelined requests, sent from a process of its own so that it does not slow down the measurement. */
export const Flood = z.object({
  port: z.number(),
  seconds: z.number(),
  /** Connections at the same time. Each is opened again once the other end has closed it. */
  connections: z.number(),
  /** Requests in one write. */
  requests: z.number(),
  /** Milliseconds from one write of a connection to its next. */
  pauseMs: z.number(),
});

/** The totals that the flood prints when its time is over. */
export const Flooded = z.object({ writes: z.number(), connects: z.number() });

const { port, seconds, connections, requests, pauseMs } = Flood.parse(JSON.parse(process.argv[2] ?? ''));
const bytes = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests);
const end = Date.now() + seconds * 1_000;
const total = { writes: 0, connects: 0 };

async function open(): Promise<Socket> {
  total.connects += 1;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

async function attack(): Promise<void> {
  let socket = await open();
  while (Date.now() < end) {
    if (socket.destroyed) socket = await open();
    total.writes += 1;
    await Promise.race([new Promise((resolve) => socket.write(bytes, resolve)), sleep(end - Date.now())]);
    await sleep(pauseMs);
  }
  socket.destroy();
}

await Promise.all(Array.from({ length: connections }, attack));
process.stdout.write(JSON.stringify(total));
