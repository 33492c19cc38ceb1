import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { Bag } from './bag.ts';

/** The connections of a server, and how they end. */
export interface Connections {
  /** Answers every request with `Connection: close` from now on. New connections are still accepted. */
  readonly drain: () => void;
  /**
   * Closes the server: answers the requests in progress for at most `graceMs`, then ends every connection.
   * `server.close()` alone would also wait for senders that keep a connection for later, send nothing, or stop in the
   * middle of a TLS handshake.
   */
  readonly close: () => Promise<void>;
}

/** Tracks a server's connections, and ends those beyond `maxConnections`. */
export function trackConnections(
  server: Server | TlsServer,
  graceMs: number,
  maxConnections: number,
): Connections {
  let isDraining = false;
  const sockets = new Bag<Socket>();
  const inProgress = new Bag<ServerResponse>();
  server.on('connection', (socket: Socket) => {
    socket.once('close', sockets.add(socket));
    // The server's own limit does not count the connections that other sockets have accepted for it.
    if (sockets.size > maxConnections) socket.destroy();
  });
  server.prependListener('request', (_request, response: ServerResponse) => {
    response.once('close', inProgress.add(response));
    if (isDraining) response.setHeader('Connection', 'close');
  });
  function drain(): void {
    isDraining = true;
    for (const response of inProgress) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
  }
  return {
    drain,
    async close() {
      drain();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      const grace = AbortSignal.timeout(graceMs);
      // Others are added meanwhile.
      while (inProgress.size > 0 && !grace.aborted) {
        for (const response of inProgress) {
          if (!response.closed) await once(response, 'close', { signal: grace }).catch(() => undefined);
        }
      }
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
