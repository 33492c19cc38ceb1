import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A piece of network before a server of this machine, which can be cut. */
export interface Proxy {
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  /** Forwards nothing any more and closes nothing: both ends wait, as behind a cable that was pulled. */
  stall(): void;
  /** Resets every connection, and every new one, as a firewall that lost its state. */
  reset(): void;
  /** Forwards again, first what it has held back. */
  heal(): void;
  close(): Promise<void>;
}

interface Link {
  readonly near: Socket;
  /** Undefined while the link was made during a cut. */
  far: Socket | undefined;
}

/** Starts to forward to this port of 127.0.0.1. */
export async function startProxy(targetPort: number): Promise<Proxy> {
  const links = new Set<Link>();
  let state: 'open' | 'stalled' | 'resetting' = 'open';

  function join(link: Link): void {
    const far = connect(targetPort, '127.0.0.1');
    link.far = far;
    far.on('error', () => link.near.resetAndDestroy());
    far.on('close', () => link.near.end());
    far.pipe(link.near);
    link.near.pipe(far);
  }

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) => {
    near.on('error', () => undefined);
    if (state === 'resetting') return void near.resetAndDestroy();
    const link: Link = { near, far: undefined };
    links.add(link);
    near.on('close', () => {
      links.delete(link);
      link.far?.destroy();
    });
    if (state === 'open') join(link);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');

  return {
    port: address.port,
    stall() {
      state = 'stalled';
      for (const { near, far } of links) {
        if (far === undefined) continue;
        // A socket that is not read tells neither data nor end.
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    reset() {
      state = 'resetting';
      for (const { near } of links) near.resetAndDestroy();
    },
    heal() {
      state = 'open';
      for (const link of links) {
        if (link.far === undefined) join(link);
        else {
          link.far.pipe(link.near);
          link.near.pipe(link.far);
        }
      }
    },
    async close() {
      server.close();
      for (const { near } of links) near.destroy();
      await once(server, 'close');
    },
  };
}
