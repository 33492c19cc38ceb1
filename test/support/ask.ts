import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** What is asked: the path goes out as it is written, and any header may be set, which `fetch` allows neither of. */
export interface Question {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Asks a listener at `http://host:port` once, by a connection of its own. */
export async function ask(url: string, { method, path, headers, body }: Question): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method, path, headers, agent: false }, resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
}

/** A form as a browser sends it from a page of the listener itself. */
export function formOf(fields: Readonly<Record<string, string>>): Question {
  return {
    method: 'POST',
    path: '/login',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' },
    body: new URLSearchParams(fields).toString(),
  };
}

/** The cookie of an answer as a browser sends it back. */
export const cookieOf = ({ headers }: Answer): string =>
  (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
