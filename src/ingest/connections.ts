import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

/**
 * Tracks a server's connections. The returned function closes the server: it answers the requests in progress for at most
 * `graceMs`, then ends every connection. `server.close()` alone would also wait for senders that keep a connection for
 * later, send nothing, or stop in the middle of a TLS handshake.
 */
export function trackConnections(server: Server | TlsServer, graceMs: number): () => Promise<void> {
  const sockets = new Set<Socket>();
  const inProgress = new Set<ServerResponse>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.prependListener('request', (_request, response: ServerResponse) => {
    inProgress.add(response);
    response.once('close', () => inProgress.delete(response));
    if (!server.listening) response.setHeader('Connection', 'close');
  });
  return async () => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    const grace = AbortSignal.timeout(graceMs);
    // Iterating a set includes the responses added meanwhile.
    for (const response of inProgress) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
      await once(response, 'close', { signal: grace }).catch(() => undefined);
    }
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}
