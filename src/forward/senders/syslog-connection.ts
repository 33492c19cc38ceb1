import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type net from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { connectStream, type StreamOptions } from './connection-options.ts';
import { OutageError } from '../../lib/errors.ts';

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
      await nextTurn();
      if (failure !== undefined) throw failure;
    },
    async finish() {
      isEnding = true;
      socket.end();
      // A limit for the whole: a receiver that writes on and on makes progress, but does not close.
      const message = `the receiver did not close the connection within ${timeoutMs} ms`;
      await pTimeout(closed, { milliseconds: timeoutMs, message }).finally(() => socket.destroy());
      if (failure !== undefined) throw failure;
    },
    destroy() {
      fail(new Error('the connection was closed here'));
      socket.destroy();
    },
  };
}

/**
 * Carries frames to a syslog receiver. Syslog has no acknowledgement: what was written sits in the buffers of two
 * operating systems and of everything between them, and is lost with them. Two transports deal with that in different
 * ways. Both throw OutageError for a batch that must be sent again, and both may send again what had already arrived.
 */
export interface SyslogTransport {
  send(frames: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** A receiver that accepts connections and then closes them needs at least this time to do so. */
const SETTLE_MS = 20;

/**
 * The wait while it is not known that batches arrive: before the first one, and after a failure. It is longer than a busy
 * machine takes, and than HAProxy tries to reach a dead server by default: four times, a second apart.
 */
export const PATIENCE_MS = 5_000;

interface SyslogReceiver {
  readonly patienceMs: number;
  /** For errors: what the receiver is and its address. */
  readonly name: string;
  readonly connect: () => Promise<SyslogConnection>;
}

/** A receiver that has read a batch closes its end within this time. A proxy that has lost its server takes longer. */
const PROMPT_MS = 1_000;

/**
 * Opens a connection for each batch. The batch has arrived when the receiver, having read to the end, closes the
 * connection in turn. A receiver that is stopped, killed or cut off before that does not. One that closes before we do
 * has not accepted the batch. One that closes late may be a proxy that tries to reach a dead server: if it closed
 * promptly before, the batch is sent again with the long wait.
 */
export function confirmedTransport({ name, connect, patienceMs }: SyslogReceiver): SyslogTransport {
  let isProven = false;
  let connection: SyslogConnection | undefined;
  return {
    async send(frames) {
      const wasProven = isProven;
      isProven = false;
      try {
        connection = await connect();
        await connection.write(frames);
        await connection.settle(wasProven ? SETTLE_MS : patienceMs);
        const ended = performance.now();
        await connection.finish();
        isProven = performance.now() - ended < PROMPT_MS;
        if (wasProven && !isProven) throw new Error('the receiver closed the connection late');
      } catch (cause) {
        connection?.destroy();
        throw new OutageError(`${name} did not accept a batch`, { cause });
      }
    },
    /** A batch that is being sent is not accepted then. */
    close: () => Promise.resolve(connection?.destroy()),
  };
}

/**
 * Keeps one connection. A batch counts as sent when our operating system has accepted it and the receiver does not close
 * the connection right after that. If the connection is found broken later, its last batch is sent again before the next
 * one. Earlier batches are not sent again: at most the content of the socket's buffers is lost, a few megabytes.
 */
export function keptTransport({ name, connect, patienceMs }: SyslogReceiver): SyslogTransport {
  let connection: SyslogConnection | undefined;
  let last: readonly string[] = [];

  async function reconnect(): Promise<SyslogConnection> {
    connection = await connect();
    await connection.settle(patienceMs);
    if (last.length > 0) await connection.write(last);
    return connection;
  }

  return {
    async send(frames) {
      try {
        if (connection?.isBroken() === true) connection = undefined;
        const sent = connection ?? (await reconnect());
        await sent.write(frames);
        await sent.settle(SETTLE_MS);
        last = frames;
      } catch (cause) {
        connection?.destroy();
        connection = undefined;
        throw new OutageError(`${name} did not accept a batch`, { cause });
      }
    },
    async close() {
      try {
        await connection?.finish();
      } catch (cause) {
        throw new OutageError(`${name} may have lost the last batch`, { cause });
      }
    },
  };
}
