import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';

/**
 * Node.js accepts one connection in each turn of the event loop: of 64 that a sender opens at once, and fills with bodies,
 * the last was accepted after 0.4 s, and those of other senders after it. On Linux several sockets can listen on one port.
 */
const ACCEPTORS = process.platform === 'linux' ? 8 : 1;

/** Creates the sockets. The server gets their connections as its own. */
export function createAcceptors(server: Server) {
  const others: Server[] = [];

  async function addOne(port: number, host: string): Promise<void> {
    const other = createServer((socket) => server.emit('connection', socket));
    others.push(other);
    await listenOn(other, { port, host, reusePort: true });
  }

  return {
    /** Lets the server listen, and the further sockets with it. Resolves with the port. Rejects if the port is in use. */
    async listen(wanted: number, host: string): Promise<number> {
      if (ACCEPTORS === 1) return listenOn(server, { port: wanted, host });
      // Sockets that share a port also share it with those of another process: only one that does not can tell.
      if (wanted !== 0) await checkFree(wanted, host);
      const port = await listenOn(server, { port: wanted, host, reusePort: true });
      for (let n = 1; n < ACCEPTORS; n += 1) await addOne(port, host);
      return port;
    },
    close(): void {
      for (const other of others) other.close();
    },
  };
}

async function checkFree(port: number, host: string): Promise<void> {
  const probe = createServer();
  await listenOn(probe, { port, host });
  await new Promise((resolve) => probe.close(resolve));
}

async function listenOn(
  server: Server,
  options: { readonly port: number; readonly host: string; readonly reusePort?: boolean },
): Promise<number> {
  server.listen(options);
  await once(server, 'listening');
  return portOf(server.address());
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return address.port;
}
