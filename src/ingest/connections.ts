import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

/** A sender that is still there sees the end of its connection by then. */
const LINGER_MS = 250;

/** Tracks a server's connections, and ends those beyond `maxConnections`. */
export function trackConnections(server: Server | TlsServer, graceMs: number, maxConnections: number) {
  let isDraining = false;
  const sockets = new SwapRemoveList<Socket>();
  const clients = new SwapRemoveList<Socket>();
  const inProgress = new SwapRemoveList<ServerResponse>();
  server.on('connection', (socket: Socket) => {
    socket.once('close', sockets.add(socket));
    // The server's own limit does not count the connections that other sockets have accepted for it.
    if (sockets.size > maxConnections) socket.destroy();
  });
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    socket.once('close', clients.add(socket));
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
  /**
   * Ends the connections that are kept for a later request, and reads on until their senders have seen it: a request that
   * crosses the end is then met by an orderly end, after which a proxy tries another process. A reset, which closing the
   * socket would cause, HAProxy passes on to the sender instead.
   */
  async function endKept(): Promise<void> {
    const busy = new Set([...inProgress].map(({ socket }) => socket));
    const lingering = AbortSignal.timeout(LINGER_MS);
    const kept = [...clients].filter((socket) => socket.bytesWritten > 0 && !busy.has(socket));
    await Promise.all(
      kept.map((socket) => {
        socket.end();
        return once(socket, 'close', { signal: lingering }).catch(() => undefined);
      }),
    );
  }
  return {
    /** Answers every request with `Connection: close` from now on. New connections are still accepted. */
    drain,
    /**
     * Closes the server: answers the requests in progress for at most `graceMs`, then ends every connection.
     * `server.close()` alone would also wait for senders that keep a connection for later, send nothing, or stop in the
     * middle of a TLS handshake, and it would reset the connection of a sender that begins a request at this moment.
     */
    close: async (): Promise<void> => {
      drain();
      await endKept();
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

/**
 * Things that come and go by the thousand, in no order. A `Set` makes a new table after every few of them, and a table points to
 * its successor: once a table is in the old generation of the heap, all later ones survive with what was in them, until
 * the next full garbage collection. With a `Set` of responses, 5 of the 10 KB that each delivery left there were finished
 * requests.
 */
export class SwapRemoveList<T> implements Iterable<T> {
  readonly #places: { readonly item: T; index: number }[] = [];

  get size(): number {
    return this.#places.length;
  }

  /** Adds an item. Returns the function that removes it, which may be called once. */
  add(item: T): () => void {
    const place = { item, index: this.#places.length };
    this.#places.push(place);
    return () => {
      const last = this.#places.pop();
      if (last === undefined || last === place) return;
      this.#places[place.index] = last;
      last.index = place.index;
    };
  }

  /** The items in no particular order, as they are when it begins. */
  [Symbol.iterator](): Iterator<T> {
    return this.#places.map(({ item }) => item).values();
  }
}
