import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type net from 'node:net';
import { setImmediate } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { connectStream, type StreamOptions } from './connection-options.ts';

/** An open connection to a syslog receiver. */
export interface SyslogConnection {
  /** Whether the connection can no longer be used: the receiver has closed it or is gone. */
  isBroken(): boolean;
  /** Resolves once the operating system has accepted all frames; rejects if the connection breaks before that. */
  write(frames: readonly string[]): Promise<void>;
  /**
   * Gives a receiver that turns us away so much time to do so, and more if it is far away. Rejects if it has closed the
   * connection. For datagrams, it resolves at once.
   */
  settle(atLeastMs: number): Promise<void>;
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
    settle: () => Promise.resolve(),
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

/**
 * A close needs half a round trip to arrive, and connecting took at least one. A connect that took seconds waited for a
 * name server or a lost packet, so it says nothing about that.
 */
const SETTLE_PER_CONNECT = 4;
const MAX_ROUND_TRIPS_MS = 2_000;

/** Opens a TCP or TLS connection. Rejects with the system's error. The time-out is also for writing without progress. */
export async function openStream(options: StreamOptions): Promise<SyslogConnection> {
  const began = performance.now();
  const socket = await connectStream(options);
  return followConnection(socket, options.timeoutMs, performance.now() - began);
}

function followConnection(socket: net.Socket, timeoutMs: number, connectMs: number): SyslogConnection {
  let failure: Error | undefined;
  let isEnding = false;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    failure ??= error;
  };
  socket.on('error', fail);
  socket.on('timeout', () => socket.destroy(new Error(`no progress for ${timeoutMs} ms`)));
  socket.once('close', resolve);
  socket.once('end', () => {
    if (!isEnding) fail(new Error('the receiver closed the connection before the end of the batch'));
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
    async settle(atLeastMs) {
      const roundTripsMs = Math.min(SETTLE_PER_CONNECT * connectMs, MAX_ROUND_TRIPS_MS);
      const milliseconds = Math.min(Math.max(atLeastMs, roundTripsMs), timeoutMs);
      await pTimeout(closed, { milliseconds, message: false });
      // If this process was busy meanwhile, the close has arrived but was not read yet.
      await setImmediate();
      if (failure !== undefined) throw failure;
    },
    async finish() {
      isEnding = true;
      socket.setTimeout(timeoutMs);
      socket.end();
      await closed;
      if (failure !== undefined) throw failure;
    },
    destroy: () => socket.destroy(),
  };
}
