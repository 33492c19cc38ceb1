import net from 'node:net';
import tls from 'node:tls';
import { onTestFinished } from 'vitest';
import { listen } from './listen.ts';

interface ServerOptions {
  /** With TLS. */
  readonly secure?: tls.TlsOptions | undefined;
  /** Does not close a connection in turn when the client does. */
  readonly allowHalfOpen?: boolean;
}

/** Starts a server on loopback that ends with the test. `onSocket` gets each connection and its number, from 0. */
export async function tcpServer(
  onSocket: (socket: net.Socket, index: number) => void,
  { secure, allowHalfOpen = false }: ServerOptions = {},
): Promise<{ readonly port: number; readonly sockets: readonly net.Socket[] }> {
  const sockets: net.Socket[] = [];
  const listener = (socket: net.Socket) => {
    socket.on('error', () => undefined);
    onSocket(socket, sockets.push(socket) - 1);
  };
  const server =
    secure === undefined ? net.createServer({ allowHalfOpen }, listener) : tls.createServer(secure, listener);
  // A client that does not trust the server is no failure of the test.
  server.on('tlsClientError', () => undefined);
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port, sockets };
}
