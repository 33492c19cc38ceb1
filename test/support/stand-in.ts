import http from 'node:http';
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import https from 'node:https';
import type { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { TestCertificate } from './certificates.ts';
import { listen } from './listen.ts';

/** A request as the stand-in received it, its body inflated. */
export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
  bytes: Buffer;
}

/**
 * What the script answers; `cut` ends the connection instead, `half` ends it in the status line, `silent` never answers,
 * `endless` never stops.
 */
export type Reply =
  | { status?: number; headers?: Record<string, string>; json?: unknown; raw?: string | Buffer }
  | 'cut'
  | 'half'
  | 'silent'
  | 'endless';

/** Gets each request and its number, counted from 0. */
export type Script = (request: Received, index: number) => Reply | Promise<Reply>;

/** A server on loopback in the place of a destination or a cloud, which answers by its script and remembers every request. */
export interface StandIn extends AsyncDisposable {
  url: string;
  port: number;
  received: Received[];
}

/** Starts a stand-in, with TLS where there is a certificate. */
export async function standIn(script: Script, certificate?: TestCertificate): Promise<StandIn> {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request;
      const sent = await buffer(request);
      const isGzip = sent[0] === 0x1f && sent[1] === 0x8b;
      const bytes = isGzip ? gunzipSync(sent) : sent;
      const whole = { method, url, headers, body: bytes.toString(), bytes };
      received.push(whole);
      answer(response, await script(whole, received.length - 1));
    })();
  };
  const server =
    certificate === undefined
      ? http.createServer(listener)
      : https.createServer({ cert: certificate.cert, key: certificate.key }, listener);
  const port = await listen(server);
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers in turn, the last reply from then on. */
export function inTurn(...replies: readonly Reply[]): Script {
  return (_request, index) => replies[Math.min(index, replies.length - 1)] ?? 'silent';
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply === 'silent') return;
  if (reply === 'cut') {
    response.destroy();
    return;
  }
  if (reply === 'half') {
    response.socket?.end('HTTP/1.1 2');
    return;
  }
  if (reply === 'endless') {
    response.writeHead(401);
    endless(response);
    return;
  }
  const { status = 200, headers = {}, json, raw } = reply;
  response.writeHead(status, headers).end(raw ?? (json === undefined ? '' : JSON.stringify(json)));
}

/** Writes ten megabytes a second, until the connection ends. */
export function endless(to: Writable | undefined): void {
  const timer = setInterval(() => to?.write('x'.repeat(10_000)), 1);
  to?.on('error', () => undefined).once('close', () => clearInterval(timer));
}
