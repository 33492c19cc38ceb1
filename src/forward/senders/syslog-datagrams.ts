import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Connection } from './syslog-connection.ts';

/**
 * A UDP socket for one receiver. Datagrams that are lost on the way are lost without a sign; only a host that answers
 * that nobody listens breaks it.
 */
export async function openDatagrams(host: string, port: number): Promise<Connection> {
  const { address, family } = await lookup(host);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  let failure: Error | undefined;
  socket.on('error', (error) => {
    failure ??= error;
  });
  try {
    socket.connect(port, address);
    await once(socket, 'connect');
  } catch (error) {
    socket.close();
    throw error;
  }

  return {
    isBroken: () => failure !== undefined,
    async write(frames) {
      for (const frame of frames) await sendOne(socket, frame);
      if (failure !== undefined) throw failure;
    },
    finish() {
      socket.close();
      return Promise.resolve();
    },
    destroy: () => socket.close(),
  };
}

function sendOne(socket: Socket, frame: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.send(frame, (error) => (error === null ? resolve() : reject(error)));
  return promise;
}
