import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { tlsConnectionOptions, type TlsOptions } from './tls-options.ts';

/** Where and how to connect. */
export interface StreamOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain TCP. */
  readonly tls: TlsOptions | undefined;
  /** The longest time to connect. */
  readonly timeoutMs: number;
}

const KEEP_ALIVE_DELAY_MS = 30_000;

/** Opens a TCP or TLS connection. Rejects with the system's error. */
export async function connectStream({
  host,
  port,
  tls: trust,
  timeoutMs,
}: StreamOptions): Promise<net.Socket> {
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
  socket.setNoDelay();
  // A kept connection can be silent for hours; keep-alive detects a receiver that has gone in the meantime.
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
  return socket;
}
