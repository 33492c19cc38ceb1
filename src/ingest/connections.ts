import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

/**
 * Keeps account of a server's connections. The function it gives closes the server: requests in hand are answered,
 * for at most `graceMs`, then every connection ends. `server.close()` alone would also wait for senders that keep
 * a connection for later, say nothing, or stop in the middle of a TLS handshake.
 */
export function trackConnections(server: Server | TlsServer, graceMs: number): () => Promise<void> {
  const sockets = new Set<Socket>();
  const inHand = new Set<ServerResponse>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.prependListener('request', (_request, response: ServerResponse) => {
    inHand.add(response);
    response.once('close', () => inHand.delete(response));
    if (!server.listening) response.setHeader('Connection', 'close');
  });
  return async () => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    const grace = AbortSignal.timeout(graceMs);
    // A set is walked to its end, whatever is added on the way.
    for (const response of inHand) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
      await once(response, 'close', { signal: grace }).catch(() => undefined);
    }
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}
