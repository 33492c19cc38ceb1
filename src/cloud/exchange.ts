import dns from 'node:dns';
import { EnvHttpProxyAgent } from 'undici';
import { outgoingProxies } from '../lib/outgoing.ts';
import { readAnswer } from '../lib/read-answer.ts';
import { publicLookup, refusePrivateAddress } from '../lib/public-addresses.ts';
import { CloudApiError } from './cloud-api-error.ts';

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base address, identifiers encoded. Contains a query only if the cloud itself sent the path. */
  path: string;
  /** A parameter with a list is repeated. */
  query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  json?: unknown;
  /** Whether it is safe to repeat the call. By default, everything except a POST is. */
  repeatable?: boolean;
  signal?: AbortSignal | undefined;
}

export interface Answer {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

export type OutgoingCall = Call & { token?: string };

interface ExchangeOptions {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
  /** Whether to connect to addresses of the public internet alone. */
  publicOnly: boolean;
  timeoutMs: number;
}

/** A page of the longest list has some megabytes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** By a proxy, the proxy makes the lookup. */
const PUBLIC = new EnvHttpProxyAgent({
  noProxy: outgoingProxies().NO_PROXY,
  connect: { lookup: publicLookup(dns.lookup) },
});

/**
 * Makes one HTTP exchange and resolves with the answer, whatever its status. Rejects with a `CloudApiError` without
 * status if no complete answer came in time, and with the reason of the call's signal if that was aborted.
 */
export async function exchange(call: OutgoingCall, options: ExchangeOptions): Promise<Answer> {
  const { method, path, signal } = call;
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    const url = urlOf(call, options.baseUrl);
    // If the host is an address, connecting makes no lookup.
    if (options.publicOnly) refusePrivateAddress(url.hostname);
    const response = await options.fetch(url, {
      ...(options.publicOnly && { dispatcher: PUBLIC }),
      method,
      headers: headersOf(call),
      body: call.json === undefined ? null : JSON.stringify(call.json),
      // A redirect must not send the token elsewhere or turn a POST into a GET.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const { status, headers } = response;
    const text = new TextDecoder().decode(await readAnswer(response, MAX_ANSWER_BYTES, 'the cloud'));
    return { method, path: pathOnly(path), status, headers, text };
  } catch (cause) {
    signal?.throwIfAborted();
    const reason = timeout.aborted
      ? `no answer within ${options.timeoutMs} ms`
      : `no answer: ${reasonOf(cause)}`;
    throw new CloudApiError(`${method} ${pathOnly(path)} got ${reason}`, {
      method,
      path: pathOnly(path),
      cause,
    });
  }
}

function urlOf({ path, query = {} }: Call, baseUrl: string): URL {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) url.searchParams.append(name, String(one));
  }
  return url;
}

function headersOf({ json, token }: OutgoingCall): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'xiq-sink',
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

const pathOnly = (path: string): string => path.replace(/\?.*/s, '');

/** The innermost message: the error of fetch itself only says that it failed. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return 'the connection failed';
  if (failure.cause !== undefined) return reasonOf(failure.cause);
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : failure.name;
  return failure.message === '' ? code : failure.message;
}

/**
 * Reads the cloud's clock from the Date header of any answer, in epoch milliseconds (RFC 9110, section 6.6.1: whole
 * seconds). Undefined if the answer has no such header. Throws a CloudApiError if there is no answer.
 */
export async function readCloudTime(baseUrl: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const response = await fetch(baseUrl, { redirect: 'manual', signal });
    await response.body?.cancel();
    const time = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(time) ? undefined : time;
  } catch (cause) {
    throw new CloudApiError('the cloud did not answer', { method: 'GET', path: '/', cause });
  }
}
