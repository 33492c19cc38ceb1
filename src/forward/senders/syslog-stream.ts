import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import type { Connection } from './syslog-connection.ts';
import { tlsConnectionOptions } from './tls-options.ts';
import type { TlsOptions } from './tls-options.ts';

interface StreamOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain TCP. */
  readonly tls: TlsOptions | undefined;
  /** How long connecting may take, and how long writing may make no progress. */
  readonly timeoutMs: number;
}

const KEEP_ALIVE_DELAY_MS = 30_000;

/** Opens a TCP or TLS connection. Rejects with the system's error. */
export async function openStream({ host, port, tls: trust, timeoutMs }: StreamOptions): Promise<Connection> {
  const socket =
    trust === undefined
      ? net.connect({ host, port })
      : tls.connect({ host, port, ...tlsConnectionOptions(trust) });
  const connected = trust === undefined ? 'connect' : 'secureConnect';
  try {
    await once(socket, connected, { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return followConnection(socket, timeoutMs);
}

function followConnection(socket: net.Socket, timeoutMs: number): Connection {
  let failure: Error | undefined;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    failure ??= error;
  };
  socket.setNoDelay();
  // A kept connection is silent for hours where little happens: a receiver that is gone has to be noticed by then.
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
  socket.on('error', fail);
  socket.on('timeout', () => socket.destroy(new Error(`no progress for ${timeoutMs} ms`)));
  socket.once('close', resolve);
  socket.once('end', () => {
    if (!socket.writableFinished) fail(new Error('the receiver has closed the connection'));
  });
  // Receivers say nothing, but their end of the connection is seen only by reading.
  socket.resume();

  return {
    isBroken: () => failure !== undefined || socket.destroyed,
    async write(frames) {
      socket.setTimeout(timeoutMs);
      const { promise: written, resolve, reject } = Promise.withResolvers<void>();
      socket.write(frames.join(''), (error) => (error ? reject(error) : resolve()));
      await written;
      socket.setTimeout(0);
      if (failure !== undefined) throw failure;
    },
    async finish() {
      socket.setTimeout(timeoutMs);
      socket.end();
      await closed;
      if (failure !== undefined) throw failure;
    },
    destroy: () => socket.destroy(),
  };
}
