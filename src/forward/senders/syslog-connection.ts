import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { tlsConnectionOptions, type TlsOptions } from './tls-options.ts';

/** An open connection to a syslog receiver. */
export interface SyslogConnection {
  /** Whether the connection can no longer be used: the receiver has closed it or is gone. */
  isBroken(): boolean;
  /** Resolves once the operating system has accepted all frames; rejects if the connection breaks before that. */
  write(frames: readonly string[]): Promise<void>;
  /**
   * Closes the connection and waits until the receiver, having read to the end, closes it in turn. Rejects if the
   * receiver may not have read everything. For datagrams, which cannot be tracked, it resolves at once.
   */
  finish(): Promise<void>;
  destroy(): void;
}

/**
 * Opens a UDP socket for one receiver. Datagrams lost on the way leave no trace. Only a host that reports that nothing
 * listens on the port breaks the connection.
 */
export async function openDatagrams(host: string, port: number): Promise<SyslogConnection> {
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

interface StreamOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain TCP. */
  readonly tls: TlsOptions | undefined;
  /** The longest time to connect, and the longest time without progress while writing. */
  readonly timeoutMs: number;
}

const KEEP_ALIVE_DELAY_MS = 30_000;

/** Opens a TCP or TLS connection. Rejects with the system's error. */
export async function openStream(options: StreamOptions): Promise<SyslogConnection> {
  const { host, port, tls: trust, timeoutMs } = options;
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

function followConnection(socket: net.Socket, timeoutMs: number): SyslogConnection {
  let failure: Error | undefined;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    failure ??= error;
  };
  socket.setNoDelay();
  // A kept connection can be silent for hours; keep-alive detects a receiver that has gone in the meantime.
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
  socket.on('error', fail);
  socket.on('timeout', () => socket.destroy(new Error(`no progress for ${timeoutMs} ms`)));
  socket.once('close', resolve);
  socket.once('end', () => {
    if (!socket.writableFinished) fail(new Error('the receiver closed the connection'));
  });
  // Receivers send nothing, but only reading shows that they have closed their end.
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
