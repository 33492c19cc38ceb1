import { CloudApiError } from './cloud-api-error.ts';

/** One call of the API as its caller words it. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base address, identifiers already encoded, with a query only where the cloud itself gave the path. */
  path: string;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The body: `json` is serialised, `text` goes out as plain text. */
  json?: unknown;
  text?: string;
  /** Whether doing it twice does no harm; by default everything but a POST. */
  repeatable?: boolean;
  signal?: AbortSignal | undefined;
}

/** What came back, with the call it answers for the errors that may follow. */
export interface Answer {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

/** One call, on its way with the bearer token it presents, if any. */
export type OutgoingCall = Call & { token?: string };

interface ExchangeOptions {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
}

/**
 * One HTTP exchange: resolves with whatever the cloud answers, of any status. Rejects with a `CloudApiError` without
 * status when no whole answer came in time, and with the reason of the call's signal when that was aborted.
 */
export async function exchange(call: OutgoingCall, options: ExchangeOptions): Promise<Answer> {
  const { method, path, signal } = call;
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    const response = await options.fetch(urlOf(call, options.baseUrl), {
      method,
      headers: headersOf(call),
      body: bodyOf(call),
      // A redirect must not carry the token elsewhere nor turn a POST into a GET.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const { status, headers } = response;
    return { method, path: pathOnly(path), status, headers, text: await response.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    const what = timeout.aborted
      ? `no answer within ${options.timeoutMs} ms`
      : `no answer: ${reasonOf(cause)}`;
    throw new CloudApiError(`${method} ${pathOnly(path)} got ${what}`, {
      method,
      path: pathOnly(path),
      cause,
    });
  }
}

function urlOf({ path, query = {} }: Call, baseUrl: string): URL {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.append(name, String(value));
  }
  return url;
}

function headersOf({ json, text, token }: OutgoingCall): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'xiq-sink',
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...(text === undefined ? {} : { 'content-type': 'text/plain' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function bodyOf({ json, text }: Call): string | null {
  return json === undefined ? (text ?? null) : JSON.stringify(json);
}

function pathOnly(path: string): string {
  return path.replace(/\?.*$/s, '');
}

/** The innermost message: fetch itself only ever says that it failed. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return 'the connection failed';
  if (failure.cause !== undefined) return reasonOf(failure.cause);
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : failure.name;
  return failure.message === '' ? code : failure.message;
}
