import dns from 'node:dns';
import http from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { z } from 'zod';
import { OutageError } from '../../errors.ts';
import type { Secrets } from '../../secrets.ts';
import { EndpointRefusedError } from '../sender.ts';
import { PrivateAddressError, publicLookup, refusePrivateAddress } from './public-addresses.ts';
import { tlsConnectionOptions, tlsOptions } from './tls-options.ts';

/** The options that every destination reached by HTTP has. */
export const httpOptions = {
  tls: tlsOptions.optional(),
  /** From the first byte of the connection to the last of the answer. */
  timeout_seconds: z
    .number()
    .min(0.1, 'takes seconds from 0.1 to 300')
    .max(300, 'takes seconds from 0.1 to 300')
    .default(30),
};

/** One host that is posted to, and no other: redirects are not followed, and no URL comes from outside. */
export interface HttpEndpoint {
  /** For errors: what it is and where, without path and query, which may hold a secret. */
  readonly name: string;
  /** What must not stand in an error, tokens got later included. */
  readonly secrets: Secrets;
  /**
   * Posts to a path below the URL and gives the answer, whatever its status. Throws OutageError when none came in
   * time, EndpointRefusedError when the address is not one that may be connected to.
   */
  post(path: string, headers: Readonly<Record<string, string>>, body: string | Buffer): Promise<Answer>;
  close(): void;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body, as far as it came and up to a limit. */
  readonly text: string;
}

interface HttpEndpointOptions {
  /** The destination's type, for errors. */
  readonly type: string;
  /** Without a trailing slash; paths are appended. */
  readonly url: string;
  readonly secrets: Secrets;
  readonly http: z.output<z.ZodObject<typeof httpOptions>>;
  /** Refuses to connect to any but public addresses. */
  readonly publicOnly?: boolean;
  readonly lookup?: LookupFunction | undefined;
}

const MAX_CONNECT_MS = 10_000;
/** Below the 5 s after which many servers close a connection that lies idle: a request must not meet that. */
const MAX_IDLE_MS = 4_000;
/** The longest answer that is needed is a bulk request's, about 300 bytes an item. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Makes the endpoint, with connections that are kept while they are in use. */
export function createHttpEndpoint(options: HttpEndpointOptions): HttpEndpoint {
  const { secrets, publicOnly = false } = options;
  const { protocol, origin, hostname } = new URL(options.url);
  const name = `${options.type} at ${origin}`;
  const timeoutMs = options.http.timeout_seconds * 1000;
  const { agent, request, connected } = clientOf(protocol, options.http.tls);
  const plainLookup = options.lookup ?? dns.lookup;
  const lookup = publicOnly ? publicLookup(plainLookup) : plainLookup;

  function exchange(path: string, headers: Readonly<Record<string, string>>, body: string | Buffer) {
    // An address in place of a name is connected to without a lookup.
    if (publicOnly) refusePrivateAddress(hostname.replace(/^\[|\]$/g, ''));
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const posted = request(options.url + path, {
      method: 'POST',
      agent,
      lookup,
      signal: AbortSignal.timeout(timeoutMs),
      headers: { 'user-agent': 'xiq-sink', 'content-length': Buffer.byteLength(body), ...headers },
    });
    posted.on('error', reject);
    posted.once('response', (response) => {
      // An answer such as 413 may come before the body is out; that nobody reads the rest of it is no error then.
      posted.off('error', reject).on('error', () => undefined);
      void readAnswer(response).then(resolve);
    });
    posted.once('socket', (socket) => {
      if (!socket.connecting) return;
      const late = () => posted.destroy(new Error(`no connection within ${MAX_CONNECT_MS} ms`));
      const timer = setTimeout(late, MAX_CONNECT_MS);
      for (const event of [connected, 'close']) socket.once(event, () => clearTimeout(timer));
    });
    posted.end(body);
    return promise;
  }

  return {
    name,
    secrets,
    async post(path, headers, body) {
      try {
        return await exchange(path, headers, body);
      } catch (cause) {
        if (cause instanceof PrivateAddressError) {
          throw new EndpointRefusedError(
            `${name} is not sent to: it is not on the public internet, and allow_private is not set`,
            { cause },
          );
        }
        throw new OutageError(`${name} cannot be reached`, { cause });
      }
    },
    close: () => agent.destroy(),
  };
}

function clientOf(protocol: string, tls: z.output<typeof tlsOptions> | undefined) {
  const keeping = { keepAlive: true, timeout: MAX_IDLE_MS };
  return protocol === 'https:'
    ? {
        agent: new https.Agent({ ...keeping, ...tlsConnectionOptions(tls) }),
        request: https.request,
        connected: 'secureConnect',
      }
    : { agent: new http.Agent(keeping), request: http.request, connected: 'connect' };
}

/** The status counts even where the rest of the answer does not come. */
async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) response.destroy();
  });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  response.once('error', () => resolve()).once('close', resolve);
  await over;
  const text = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}
