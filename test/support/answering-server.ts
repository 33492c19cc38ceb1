import http from 'node:http';
import { listen } from './listen.ts';

/** Starts a server on this machine that answers each request by itself. */
export async function startStandIn(answer: http.RequestListener) {
  const server = http.createServer(answer);
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
