import { pino } from 'pino';
import { createAdminApp } from '../../src/console/admin-app.ts';
import type { AdminOptions } from '../../src/console/admin-app.ts';
import type { Area } from '../../src/console/area.ts';
import { html } from '../../src/console/html/html.ts';
import { createHttpListener } from '../../src/ingest/http-listener.ts';
import type { Db } from '../../src/store/server/database.ts';

/** An area with one page, for tests of what stands around every page. */
export const ONE_PAGE = {
  tag: 'test',
  pages: [
    {
      path: '/page',
      entry: { label: 'Page', icon: 'overview' },
      needs: 'view',
      data: 'by source',
      render: async () => ({ title: 'Page', content: html`<p>the page</p>` }),
    },
  ],
} satisfies Partial<Area>;

interface Answered {
  readonly status: number;
  readonly text: string;
}

/** The admin listener, on a free port of this machine. */
export interface RunningAdmin {
  readonly url: string;
  /** Asks the API for JSON; fails unless the answer is 200. */
  get(path: string): Promise<unknown>;
  post(path: string, body: unknown): Promise<unknown>;
  /** The text of a page. */
  page(path: string): Promise<string>;
  /** Asks with this token for a page, or the API: by POST if there is a body. Resolves with whatever is answered. */
  ask(token: string | undefined, path: string, body?: unknown): Promise<Answered>;
  close(): Promise<void>;
}

/**
 * Starts the admin listener with these areas, by default without a token, on any free port. What it asks for is asked with
 * the token.
 */
export async function startAdmin(
  areas: readonly Area[],
  db: Db,
  { port = 0, ...options }: Partial<AdminOptions> & { readonly port?: number } = {},
): Promise<RunningAdmin> {
  const stopping = new AbortController();
  const app = createAdminApp({
    token: undefined,
    countFailure: async () => undefined,
    logRefusal: () => undefined,
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    console: { db, areas, openId: undefined },
    version: '0',
    stopping: stopping.signal,
    logger: pino({ level: 'silent' }),
    ...options,
  });
  const listener = createHttpListener(app, undefined);
  const url = `http://127.0.0.1:${await listener.listen(port, '127.0.0.1')}`;
  const bearer: Record<string, string> =
    options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` };
  const ask = async (
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string },
  ) => {
    const response = await fetch(`${url}${path}`, { ...init, headers: { ...bearer, ...init.headers } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return text;
  };
  return {
    url,
    get: async (path) => parse(await ask(`/api/v1${path}`, {})),
    post: async (path, body) => {
      const headers = { 'Content-Type': 'application/json' };
      return parse(await ask(`/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) }));
    },
    page: (path) => ask(path, { headers: { Accept: 'text/html' } }),
    async ask(token, path, body) {
      const response = await fetch(`${url}${path}`, {
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          Accept: path.startsWith('/api/') ? 'application/json, text/event-stream' : 'text/html',
        },
        signal: AbortSignal.timeout(30_000),
      });
      return { status: response.status, text: await response.text() };
    },
    async close() {
      stopping.abort();
      await listener.close();
    },
  };
}

function parse(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return value;
}
