import http from 'node:http';
import { listen } from './listen.ts';

/** An answer: its status and body. */
export interface TestAnswer {
  readonly status?: number;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server that answers each request by its body. */
export interface AnsweringServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server on this machine. */
export const startAnsweringServer = (answer: (body: Buffer) => TestAnswer): Promise<AnsweringServer> =>
  startStandIn((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { status = 200, body, headers } = answer(Buffer.concat(chunks));
      response.writeHead(status, headers).end(body);
    });
  });

/** Starts a server that answers each request by itself. */
export async function startStandIn(answer: http.RequestListener): Promise<AnsweringServer> {
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
