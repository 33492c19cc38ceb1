import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Unanswered requests of one connection. Browsers and the cloud send one at a time. */
const MAX_UNANSWERED = 8;

/** Passes a request of a connection on to `serve`, or drops it. */
export type ServeRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  serve: RequestListener,
) => void;

interface Connection {
  unanswered: number;
  latest: ServerResponse;
}

/**
 * Bounds the work that one connection can cause with a single write. Node.js passes on every request in the bytes that
 * it has read, thousands of them, before it looks at any other connection. This passes on the first and lets the others
 * wait for the next turn of the event loop. A connection with more than 8 unanswered requests is destroyed. Nothing is
 * passed on from a connection that is destroyed or was answered with `Connection: close`.
 */
export function limitPipelining(): ServeRequest {
  const connections = new WeakMap<Socket, Connection>();

  const pass: ServeRequest = (request, response, serve) => {
    const { socket } = request;
    let connection = connections.get(socket);
    if (connection === undefined) connections.set(socket, (connection = { unanswered: 0, latest: response }));
    if (isEnding(socket, connection.latest)) {
      stopParsing(socket);
      return;
    }
    if (connection.unanswered === MAX_UNANSWERED) {
      socket.destroy();
      stopParsing(socket);
      return;
    }
    connection.unanswered += 1;
    response.on('close', () => {
      connection.unanswered -= 1;
    });
    const run = () => {
      if (isEnding(socket, connection.latest)) return;
      connection.latest = response;
      serve(request, response);
    };
    if (connection.unanswered === 1) run();
    else setImmediate(run);
  };
  return pass;
}

/** Whether the connection cannot carry another answer after the latest one. */
function isEnding(socket: Socket, latest: ServerResponse): boolean {
  if (!socket.writable) return true;
  return latest.headersSent && (!latest.shouldKeepAlive || latest.getHeader('Connection') === 'close');
}

/**
 * Drops the rest of the bytes that were read from the connection. Without this, each request in them still costs 20 us
 * of parsing: 18 s for 300 connections with 1,700 requests each. Node.js documents neither the parser nor this answer
 * of `onIncoming` (2: the connection is upgraded, and its further bytes are not HTTP). If a version has no such
 * parser, the rest is parsed and dropped request by request.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser !== 'object' || parser === null) return;
  if ('onIncoming' in parser && typeof parser.onIncoming === 'function') parser.onIncoming = () => 2;
}
