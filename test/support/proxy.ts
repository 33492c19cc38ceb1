import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A network between a client and a server, which the test can break. */
export interface Proxy {
  readonly port: number;
  /** From now on nothing passes on the connections that are there, and nobody is told; new ones work. */
  silence(): void;
  /** Breaks all connections, and each that is tried while this lasts. Resolves with what ends it. */
  cut(): () => void;
  stop(): Promise<void>;
}

/** Starts a proxy for a server on this machine. */
export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<Proxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
    pairs.add([client, upstream]);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const destroyAll = () => {
    for (const sockets of pairs) for (const socket of sockets) socket.destroy();
    pairs.clear();
  };
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    silence() {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream);
        upstream.unpipe(client);
        client.resume();
        upstream.resume();
      }
    },
    cut() {
      isCut = true;
      destroyAll();
      return () => {
        isCut = false;
      };
    },
    async stop() {
      destroyAll();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same address, by way of the proxy. */
export function through(proxy: Proxy, address: string): string {
  const url = new URL(address);
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return url.href;
}
