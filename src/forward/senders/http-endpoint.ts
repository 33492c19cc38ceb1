import dns from 'node:dns';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import type { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { outgoingProxies } from '../../lib/outgoing.ts';
import { PrivateAddressError, publicLookup, refusePrivateAddress } from '../../lib/public-addresses.ts';
import type { Secrets } from '../../lib/secrets.ts';
import { EndpointRefusedError } from '../sender.ts';
import { timeoutOption, tlsConnectionOptions, tlsOptions } from './connection-options.ts';

/** The options of every destination that is reached by HTTP. */
export const httpOptions = {
  tls: tlsOptions.optional(),
  /** The whole exchange, from opening the connection to the last byte of the answer. */
  timeout_seconds: timeoutOption(300, 30),
};

/** The one host that requests go to. Redirects are not followed, and no URL comes from outside. */
export type HttpEndpoint = ReturnType<typeof createHttpEndpoint>;

type RequestHeaders = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as far as it arrived, up to a limit. */
  readonly bytes: Buffer;
  /** The same as text. */
  readonly text: string;
  readonly isTooLong: boolean;
}

interface HttpEndpointOptions {
  readonly type: string;
  /** The base URL without a trailing slash; paths are appended. */
  readonly url: string;
  readonly secrets: Secrets;
  readonly http: z.output<z.ZodObject<typeof httpOptions>>;
  readonly publicOnly?: boolean;
  readonly lookup?: LookupFunction | undefined;
}

const MAX_CONNECT_MS = 10_000;
/** Many servers close an idle connection after 5 s: a request must not be sent just as they do. */
const MAX_IDLE_MS = 4_000;
/** To read the longest answer as JSON takes a few milliseconds. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Creates the endpoint. Connections are kept open while they are in use. */
export function createHttpEndpoint(options: HttpEndpointOptions) {
  const { secrets, publicOnly = false } = options;
  const { protocol, origin, hostname } = new URL(options.url);
  const name = `${options.type} at ${origin}`;
  const timeoutMs = options.http.timeout_seconds * 1000;
  const { agent, request, connected } = clientOf(protocol, options.http.tls);
  const plainLookup = options.lookup ?? dns.lookup;
  const lookup = publicOnly ? publicLookup(plainLookup) : plainLookup;

  function exchange(path: string, headers: RequestHeaders, body: string | Buffer) {
    // If the host is an address, connecting makes no lookup.
    if (publicOnly) refusePrivateAddress(hostname);
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
      // An answer such as 413 may arrive before the whole body is sent. Failing to send the rest is no error then.
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
    /** For errors: type and address, without path and query, which may contain a secret. */
    name,
    /** Texts that must not appear in an error, including tokens received later. */
    secrets,
    /**
     * Posts to a path below the URL and returns the answer, whatever its status. Throws OutageError if no answer came in
     * time, and EndpointRefusedError if connections to the address are not allowed.
     */
    async post(path: string, headers: RequestHeaders, body: string | Buffer): Promise<Answer> {
      try {
        return await exchange(path, headers, body);
      } catch (cause) {
        if (cause instanceof PrivateAddressError) {
          const message = `${name} is not on the public internet: set allow_private to send there`;
          throw new EndpointRefusedError(message, { cause });
        }
        throw new OutageError(`can't reach ${name}`, { cause });
      }
    },
    close: async () => agent.destroy(),
  };
}

function clientOf(protocol: string, tls: z.output<typeof tlsOptions> | undefined) {
  const keeping = { keepAlive: true, timeout: MAX_IDLE_MS, proxyEnv: outgoingProxies() };
  return protocol === 'https:'
    ? {
        agent: new https.Agent({ ...keeping, ...tlsConnectionOptions(tls) }),
        request: https.request,
        connected: 'secureConnect',
      }
    : { agent: new http.Agent(keeping), request: http.request, connected: 'connect' };
}

/** The status counts even if the rest of the answer does not arrive. */
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
  const body = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES);
  const isTooLong = bytes > MAX_ANSWER_BYTES;
  const { statusCode: status = 0, headers } = response;
  return { status, headers, bytes: body, text: body.toString(), isTooLong };
}

/** Divides texts, in order, into requests of at most `maxBytes` each; a longer text makes a request of its own. */
export function divideBySize(texts: readonly string[], maxBytes: number): string[][] {
  const requests: string[][] = [];
  let bytes = Infinity;
  for (const text of texts) {
    // Plus the comma or line break after the text.
    const length = Buffer.byteLength(text) + 1;
    if (bytes + length > maxBytes) {
      requests.push([]);
      bytes = 0;
    }
    requests.at(-1)?.push(text);
    bytes += length;
  }
  return requests;
}
