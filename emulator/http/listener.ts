import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';

/** An HTTP server that starts once and stops once. */
export interface Listener {
  /** Resolves with the base address. Rejects if the port is not available. */
  listen(port: number, host: string): Promise<string>;
  close(): Promise<void>;
}

/** Creates a server that does not listen yet. */
export function createListener(app: RequestListener): Listener {
  const server = createServer(app);
  return {
    async listen(port, host) {
      server.listen(port, host);
      try {
        await once(server, 'listening');
      } catch (error) {
        throw new Error(`The emulator cannot listen on ${host}:${port}. Choose another port or host`, {
          cause: error,
        });
      }
      return baseAddress(server, host);
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function baseAddress(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
