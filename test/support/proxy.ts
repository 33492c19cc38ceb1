import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

/** A network between a client and a server, which the test can break. */
export interface Proxy {
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  /** From now on nothing passes on the connections that are there, and nobody is told; new ones work. */
  silence(): void;
  /** Forwards nothing any more and closes nothing: both ends wait, as behind a cable that was pulled. */
  stall(): void;
  /** Resets all connections, and each that is tried, as a firewall that lost its state. Returns what ends it. */
  cut(): () => void;
  /** Ends a stall or a cut: forwards again, first what it has held back. */
  heal(): void;
  stop(): Promise<void>;
}

interface Link {
  readonly near: Socket;
  /** Undefined while the link was made during a stall. */
  far: Socket | undefined;
}

/** Starts a proxy for a server on this machine. The target may change: new connections then lead to another server. */
export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<Proxy> {
  const links = new Set<Link>();
  let state: 'open' | 'stalled' | 'cut' = 'open';

  function join(link: Link): void {
    const far = connect(target);
    link.far = far;
    far.on('error', () => link.near.resetAndDestroy());
    far.on('close', () => link.near.end());
    far.pipe(link.near);
    link.near.pipe(far);
  }

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) => {
    near.on('error', () => undefined);
    if (state === 'cut') return void near.resetAndDestroy();
    const link: Link = { near, far: undefined };
    links.add(link);
    near.on('close', () => {
      links.delete(link);
      link.far?.destroy();
    });
    if (state === 'open') join(link);
  });
  const port = await listen(server);

  function heal(): void {
    state = 'open';
    for (const link of links) {
      if (link.far === undefined) join(link);
      else {
        link.far.pipe(link.near);
        link.near.pipe(link.far);
      }
    }
  }

  return {
    port,
    silence() {
      for (const { near, far } of links) {
        near.unpipe().resume();
        far?.unpipe().resume();
      }
    },
    stall() {
      state = 'stalled';
      for (const { near, far } of links) {
        // A socket that is not read tells neither data nor end.
        near.unpipe().pause();
        far?.unpipe().pause();
      }
    },
    cut() {
      state = 'cut';
      for (const { near } of links) near.resetAndDestroy();
      return heal;
    },
    heal,
    async stop() {
      server.close();
      for (const { near } of links) near.destroy();
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
