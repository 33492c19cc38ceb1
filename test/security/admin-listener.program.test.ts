import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ASSETS } from '../../src/console/assets.ts';
import { ask, cookieOf, formOf, type Answer, type Question } from '../support/ask.ts';
import { useDatabase } from '../support/use-database.ts';
import { connectRaw } from '../ingest/serve.ts';
import { endOfProgram, SECRET, startProgram, type Program } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';

const TOKEN = 'admin-token-of-the-listener-test';
const bearer = { Authorization: `Bearer ${TOKEN}` };

const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

/** The real program, open to the network. The tests come by loopback: with a token that makes no difference. */
describe('the admin listener off this machine', () => {
  const database = useDatabase();
  const directory = useDirectory();
  let program: Program;
  /** Every route of the API, with its parameters filled in. */
  let routes: { readonly method: string; readonly path: string }[];
  let pages: string[];

  beforeAll(async () => {
    program = await startProgram({
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: directory,
      WEBHOOK_SECRET: SECRET,
      ADMIN_HOST: '0.0.0.0',
      ADMIN_TOKEN: TOKEN,
    });
    const described = await ask(program.adminUrl, { path: '/api/openapi.json', headers: bearer });
    const { paths } = documentSchema.parse(JSON.parse(described.text));
    routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, randomUUID()),
      })),
    );
    const settings = await ask(program.adminUrl, { path: '/settings', headers: bearer });
    pages = [...settings.text.matchAll(/<a href="(\/[^"]*)"/g)].map(([, path = '']) => path);
  });
  afterAll(() => program.end('SIGTERM'));

  it('has pages and routes to ask for', () => {
    expect(pages).toContain('/settings');
    expect(routes).toContainEqual({ method: 'GET', path: '/api/v1/settings' });
  });

  /** What an answer gives away beyond that one has to log in. */
  function leaksOf({ status, headers, text }: Answer): string[] {
    return [
      [303, 401, 403, 404].includes(status) ? '' : `status ${status}`,
      'set-cookie' in headers ? 'a cookie' : '',
      status !== 303 || headers.location?.startsWith('/login?next=') === true ? '' : 'another place',
      /^$|Redirecting to \/login|missing or wrong token|other sites' pages|Cannot GET resource/.test(text)
        ? ''
        : text,
      text.length < 1_000 ? '' : 'a long text',
    ].filter((leak) => leak !== '');
  }

  /** Asks for each, and gives what leaked with what was asked. */
  async function leaks(questions: readonly Question[]): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const question of questions) {
      const leaked = leaksOf(await ask(program.adminUrl, question));
      if (leaked.length > 0) found.push({ ...question, leaked });
    }
    return found;
  }

  it('without the token nothing answers but the log-in page, /healthz and the files of the console', async () => {
    const known = [
      ...routes.map(({ path }) => path),
      ...pages,
      '/api/openapi.json',
      '/metrics',
      `${ASSETS.modules}/actions.ts`,
      `${ASSETS.modules}/../events/search-page.ts`,
      `${ASSETS.modules}/npm/express.mjs`,
    ];
    const tricks = known.flatMap((path) => [
      `/${path}`,
      path.toUpperCase(),
      `${path}/`,
      `${path}?x=1`,
      `${path}%2f`,
      `/healthz/..${path}`,
      `/login/..${path}`,
      `/login/%2e%2e${path}`,
      `/login;${path}`,
      `/%2e${path}`,
      `/login%00${path}`,
      path.replace('/', '/%'),
      path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      `http://127.0.0.1${path}`,
      `http://[${path}`,
    ]);
    const odd = [
      '/',
      '//',
      '/nowhere',
      '/favicon.ico',
      '/.git/config',
      '/LOGIN',
      '/Healthz',
      '/logout',
      '/assets/',
      '*',
      '/api/v1/',
      '/login/x',
    ];
    const paths = [...new Set([...known, ...tricks, ...odd])];
    expect(paths.length).toBeGreaterThan(80);
    const questions = paths.flatMap((path) => [{ path, headers: { Accept: 'text/html' } }, { path }]);
    expect(await leaks(questions)).toEqual([]);
  });

  it('without the token no method answers, and no other way to say who one is', async () => {
    const methods = ['HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY'];
    const claims: Record<string, string>[] = [
      { Authorization: 'Bearer wrong-token-0123456789' },
      { Authorization: `Basic ${Buffer.from(`x:${TOKEN}`).toString('base64')}` },
      { Authorization: TOKEN },
      { Authorization: `Bearer ${TOKEN} x` },
      { Authorization: `Bearer  ` },
      { Cookie: `xiq_sink_session=${TOKEN}` },
      { 'X-Http-Method-Override': 'GET', 'X-Original-Url': '/login', 'X-Rewrite-Url': '/login' },
      { 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Host': 'localhost', Forwarded: 'for=127.0.0.1' },
      { Host: 'localhost' },
    ];
    const paths = [...routes.map(({ path }) => path), '/settings', '/metrics'];
    expect(await leaks(paths.flatMap((path) => methods.map((method) => ({ method, path }))))).toEqual([]);
    for (const path of ['/api/v1/settings', `/api/v1/settings?token=${TOKEN}`, '/metrics']) {
      expect(await leaks(claims.map((headers) => ({ path, headers })))).toEqual([]);
    }
  });

  it('nothing that is no request is answered with anything', async () => {
    const port = Number(new URL(program.adminUrl).port);
    const answers: string[] = [];
    for (const bytes of [
      'GET /settings\r\n\r\n',
      'GET /settings HTTP/1.1\r\n\r\n',
      'GET /settings HTTP/1.0\r\n\r\n',
      'GET /settings HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
      'CONNECT /settings HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /settings HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
      const connection = connectRaw(port, bytes);
      await connection.closed;
      answers.push(connection.received());
    }
    for (const answer of answers)
      expect(answer).toMatch(/^(?:HTTP\/1\.1 (?:400|401|303) (?![^]*HTTP\/1\.1)|$)/);
  });

  it('the log-in page and /healthz give nothing away but the style sheet', async () => {
    expect(JSON.parse((await ask(program.adminUrl, { path: '/healthz' })).text)).toEqual({ status: 'ok' });
    const { status, text } = await ask(program.adminUrl, { path: '/login?next=/settings' });
    expect(status).toBe(200);
    expect(text.match(/\/assets\/[^"]*/g)).toEqual([expect.stringMatching(/console\.css$/)]);
    expect(text).not.toContain('<script');
    expect(text).not.toMatch(/version|Node|Express/i);
  });

  it('every change is refused that a page of another site asks for, also with a session', async () => {
    const Cookie = cookieOf(await ask(program.adminUrl, formOf({ token: TOKEN })));
    expect((await ask(program.adminUrl, { path: '/settings', headers: { Cookie } })).status).toBe(200);
    const changes = [
      ...routes.filter(({ method }) => method === 'POST'),
      { method: 'POST', path: '/logout' },
    ];
    for (const change of changes) {
      for (const sign of [{ Origin: 'https://evil.test' }, { 'Sec-Fetch-Site': 'same-site' }]) {
        const headers = { Cookie, 'Content-Type': 'text/plain', ...sign };
        const { status, text } = await ask(program.adminUrl, { ...change, headers, body: '{}' });
        expect({ ...change, status, isSaid: text.includes('OTHER_SITE') }).toEqual({
          ...change,
          status: 403,
          isSaid: true,
        });
      }
    }
    expect((await ask(program.adminUrl, { path: '/settings', headers: { Cookie } })).status).toBe(200);
  });

  it('the token is in no line of the log', () => {
    expect(program.output()).toContain('missing or wrong token');
    expect(program.output()).not.toContain(TOKEN);
  });
});

describe('without a token', () => {
  it.each(['0.0.0.0', '::', '192.0.2.1', 'sink.example'])(
    'the program does not start on %s, and says which setting is missing',
    async (host) => {
      const ended = await endOfProgram({ ADMIN_HOST: host, ADMIN_PORT: '0', PORT: '0' }, 'serve');
      expect(ended.code).toBe(2);
      expect(ended.stderr).toContain('ADMIN_HOST needs ADMIN_TOKEN');
    },
  );
});
