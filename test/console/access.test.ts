import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonRoute } from '../../src/console/api/route.ts';
import type { Area } from '../../src/console/area.ts';
import { createFailedSecrets } from '../../src/ingest/failed-secrets.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { ONE_PAGE, startAdmin } from '../support/admin.ts';
import type { RunningAdmin } from '../support/admin.ts';
import { ask, cookieOf, formOf } from '../support/ask.ts';
import { useDatabase } from '../support/use-database.ts';

const TOKEN = 'the-admin-token-0123456789';
const OTHER_TOKEN = 'another-admin-token-0123456789';

/** A page, a question and a change. */
const area: Area = {
  ...ONE_PAGE,
  routes: [
    jsonRoute({
      route: 'GET /thing',
      data: 'by source',
      summary: 'a question',
      needs: 'view',
      answer: z.object({ thing: z.number() }),
      work: async () => ({ thing: 7 }),
    }),
    jsonRoute({
      route: 'POST /thing',
      data: 'by source',
      summary: 'a change',
      needs: 'view',
      input: { body: z.object({ thing: z.number() }) },
      answer: z.object({ by: z.string(), via: z.string() }),
      work: async (_asked, { operator }) => ({ by: operator.name, via: operator.via }),
    }),
  ],
};

const database = useDatabase();
let admin: RunningAdmin;
let lines: string[];
afterEach(() => admin.close());

async function start(token: string | undefined): Promise<void> {
  lines = [];
  const failures = createFailedSecrets();
  admin = await startAdmin([area], database.db, {
    token,
    countFailure: (address) => failures.count(address),
    logRefusal: ({ status }, message) => void lines.push(`${status} ${message.split(';')[0]}`),
    logger: pino({ level: 'trace' }, { write: (line) => void lines.push(line) }),
  });
}

const get = (path: string, headers: Record<string, string> = {}) => ask(admin.url, { path, headers });
const getPage = (path: string, headers: Record<string, string> = {}) =>
  get(path, { Accept: 'text/html', ...headers });
const logIn = (fields: Record<string, string> = {}) => ask(admin.url, formOf({ token: TOKEN, ...fields }));
const change = (headers: Record<string, string> = {}) =>
  ask(admin.url, {
    method: 'POST',
    path: '/api/v1/thing',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: '{"thing":7}',
  });

/** What browsers say of a request that a page of another site makes them send, old and new ones. */
const OTHER_SITES = [
  { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' },
  { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' },
  { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' },
  { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'script' },
  { Origin: 'https://evil.test' },
  { Origin: 'null' },
  { Origin: 'http://127.0.0.1:1' },
];

/** What browsers say of a link of another site that is followed. */
const LINK = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };

describe('with a token', () => {
  beforeEach(() => start(TOKEN));

  it.each(['/page', '/api/v1/thing', '/api/openapi.json', '/metrics', '/', '/nowhere'])(
    '%s is not shown without it',
    async (path) => {
      expect(await get(path)).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
      const { status, text } = await get(path, { Authorization: `Bearer ${OTHER_TOKEN}` });
      expect([status, text.includes('UNAUTHORIZED')]).toEqual([401, true]);
    },
  );

  it('people are sent to the log-in page, and from there to where they wanted to go', async () => {
    const { status, headers } = await getPage('/page?a=1&b=%2F');
    expect([status, headers.location]).toEqual([303, '/login?next=%2Fpage%3Fa%3D1%26b%3D%252F']);
    expect((await getPage(headers.location ?? '')).text).toContain('value="/page?a=1&amp;b=%2F"');
    const loggedIn = await logIn({ next: '/page?a=1&b=%2F' });
    expect([loggedIn.status, loggedIn.headers.location]).toEqual([303, '/page?a=1&b=%2F']);
    const page = await getPage('/page', { Cookie: cookieOf(loggedIn) });
    expect([page.status, page.text]).toEqual([200, expect.stringMatching(/admin token[^]*the page/)]);
    const again = await getPage('/login?next=/page', { Cookie: cookieOf(loggedIn) });
    expect(again.headers.location).toBe('/page');
  });

  it('programs send it as a bearer token', async () => {
    expect(await get('/api/v1/thing', { Authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 200 });
    expect(JSON.parse((await change({ Authorization: `bearer ${TOKEN}` })).text)).toEqual({
      by: 'admin token',
      via: 'api',
    });
  });

  it.each([
    '',
    '\\\\evil.test',
    '\t//evil.test',
    '/login?next=/login',
    ...'//evil.test /\\evil.test https://evil.test/ /.//evil.test javascript:alert(1)'.split(' '),
    ...'data:text/html,x /..//evil.test ///evil.test http:evil.test'.split(' '),
  ])('log-in leads nowhere else: %j', async (next) => {
    expect((await logIn({ next })).headers.location).toMatch(/^\/(?:evil\.test)?$/);
    const page = await getPage(`/login?next=${encodeURIComponent(next)}`, { 'Sec-Fetch-Site': 'cross-site' });
    expect(page.text).toMatch(/content="0; url=\/(?:evil\.test)?"/);
  });

  it('the cookie is kept from scripts and other sites, and under TLS from plain connections', async () => {
    const [cookie = ''] = (await logIn()).headers['set-cookie'] ?? [];
    const attributes = cookie
      .split('; ')
      .slice(1)
      .filter((attribute) => !attribute.startsWith('Expires='));
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Strict']);
    const question = formOf({ token: TOKEN });
    const headers = { ...question.headers, 'X-Forwarded-Proto': 'https' };
    const behindTls = await ask(admin.url, { ...question, headers });
    expect(behindTls.headers['set-cookie']?.[0]?.split('; ')).toContain('Secure');
  });

  it('who logs out is out, and both are written down', async () => {
    const Cookie = cookieOf(await logIn());
    expect((await getPage('/page', { Cookie })).status).toBe(200);
    const out = await ask(admin.url, { method: 'POST', path: '/logout', headers: { Cookie } });
    expect([out.status, out.headers.location, cookieOf(out)]).toEqual([303, '/login', 'xiq_sink_session=']);
    expect((await getPage('/page', { Cookie })).status).toBe(303);
    expect(await listActions(database.db, { limit: 2 })).toMatchObject([
      { operator: 'admin token', via: 'console', action: 'console.logout', outcome: 'done' },
      { operator: 'admin token', via: 'console', action: 'console.login', outcome: 'done' },
    ]);
  });

  it('a wrong token in the form is recorded as a failed log-in, without the token', async () => {
    expect((await logIn({ token: OTHER_TOKEN })).status).toBe(401);
    const [action] = await listActions(database.db, { limit: 1 });
    expect(action).toMatchObject({ operator: 'not logged in', action: 'console.login', outcome: 'failed' });
    expect(JSON.stringify(action)).not.toContain(OTHER_TOKEN);
  });

  it('a link of another site is followed: the log-in page goes on, and then the browser brings the cookie', async () => {
    const { status, headers } = await getPage('/page?a=1', LINK);
    expect([status, headers.location]).toEqual([303, '/login?next=%2Fpage%3Fa%3D1']);
    expect((await getPage(headers.location ?? '', LINK)).text).toContain('content="0; url=/page?a=1"');
    expect((await get('/api/v1/thing', { ...LINK, Cookie: cookieOf(await logIn()) })).status).toBe(403);
  });

  it('the 21st wrong one of an address in a minute is answered 429, the right one never', async () => {
    const wrong = [
      () => get('/api/v1/thing', { Authorization: 'Bearer wrong' }),
      () => getPage('/page', { Authorization: 'Bearer wrong' }),
      () => logIn({ token: 'wrong' }),
    ];
    const statuses: number[] = [];
    for (let i = 0; i < 24; i += 1) statuses.push((await wrong[i % 3]?.())?.status ?? 0);
    const refused = Array.from({ length: 20 }, (_, i) => [401, 303, 401][i % 3]);
    expect(statuses).toEqual([...refused, 429, 429, 429, 429]);
    // The address that a header names is not the one that counts.
    const elsewhere = {
      'X-Forwarded-For': '192.0.2.7',
      Forwarded: 'for=192.0.2.7',
      Authorization: 'Bearer x',
    };
    const { status, headers } = await get('/api/v1/thing', elsewhere);
    expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect(await get('/api/v1/thing', { Authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 200 });
    expect(await logIn()).toMatchObject({ status: 303 });
    expect(lines).toEqual([
      ...Array<string>(20).fill('401 console: wrong token'),
      ...Array<string>(5).fill('429 console: too many wrong tokens'),
    ]);
  });

  it('a name beside the token changes nothing: it is not proven', async () => {
    const Cookie = cookieOf(await logIn({ name: 'Grace' }));
    expect(JSON.parse((await change({ Cookie })).text)).toMatchObject({ by: 'admin token' });
  });

  it.each([{}, { name: 'ada' }, { password: 'x' }, { name: ' ', password: 'x' }, { name: 'a'.repeat(101) }])(
    'a form without a token, or name and password, is refused: %j',
    async (fields) => {
      const { status, headers } = await ask(admin.url, formOf(fields));
      expect([status, headers['set-cookie']]).toEqual([400, undefined]);
    },
  );

  it('token and cookie are in no line of the log, whatever goes wrong', async () => {
    const Cookie = cookieOf(await logIn());
    const Authorization = `Bearer ${TOKEN}`;
    await change({ Cookie });
    await change({ Authorization, 'Content-Type': 'application/json; charset=x' });
    for (const headers of [{ Cookie }, { Authorization }]) {
      await get('/nowhere', headers);
      await getPage('/nowhere', headers);
      await ask(admin.url, {
        method: 'POST',
        path: '/api/v1/thing',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: `{"token": ${TOKEN}}`,
      });
    }
    await logIn({ name: '' });
    await get('/api/v1/thing', { Authorization: `Basic ${TOKEN}` });
    await get(`/login?next=${TOKEN}`);
    const log = lines.join('');
    expect(lines.length).toBeGreaterThan(5);
    expect([log.includes(TOKEN), log.includes(Cookie.split('=')[1] ?? 'no cookie')]).toEqual([false, false]);
  });

  it('a body is bounded: 8 kB at log-in, 1 MB for who is in', async () => {
    expect(await logIn({ next: 'x'.repeat(10_000) })).toMatchObject({ status: 413 });
    const body = JSON.stringify({ thing: 1, x: 'x'.repeat(1_100_000) });
    const headers = { 'Content-Type': 'application/json' };
    const path = '/api/v1/thing';
    expect((await ask(admin.url, { method: 'POST', path, headers, body })).status).toBe(401);
    const Authorization = `Bearer ${TOKEN}`;
    expect(
      (await ask(admin.url, { method: 'POST', path, headers: { ...headers, Authorization }, body })).status,
    ).toBe(413);
  });
});

describe('without a token', () => {
  beforeEach(() => start(undefined));

  it('whoever is on this machine is answered, by its own names', async () => {
    for (const host of ['localhost', '127.0.0.1', '127.0.0.2:80', '[::1]', 'localhost:8081', 'LOCALHOST']) {
      expect((await get('/api/v1/thing', { Host: host })).status).toBe(200);
    }
    expect((await getPage('/page')).status).toBe(200);
    expect(JSON.parse((await change()).text)).toEqual({ by: 'local user', via: 'api' });
  });

  it.each(
    'evil.test evil.test:8081 localhost.evil.test 127.0.0.1.evil.test 192.0.2.1 0.0.0.0 evil'.split(' '),
  )('a name that leads here is refused: %j', async (host) => {
    for (const path of ['/api/v1/thing', '/page', '/metrics', '/assets/x', '/nowhere']) {
      expect((await get(path, { Host: host })).status).toBe(403);
    }
    expect((await change({ Host: host })).status).toBe(403);
  });

  it.each(OTHER_SITES)('what a page of another site asks for is refused: %j', async (headers) => {
    expect((await change(headers)).status).toBe(403);
    for (const path of ['/api/v1/thing', '/page', '/metrics'])
      expect((await get(path, headers)).status).toBe(403);
  });

  it('a link of another site to a page is followed, to the API it is not', async () => {
    expect((await getPage('/page', LINK)).status).toBe(200);
    for (const path of ['/api/v1/thing', '/API/v1/thing'])
      expect([403, 404]).toContain((await get(path, LINK)).status);
    expect((await change(LINK)).status).toBe(403);
  });

  it.each([
    ...'Via Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Anything'.split(' '),
    ...'CDN-Loop X-Real-IP CF-Connecting-IP True-Client-IP X-Client-IP X-Cluster-Client-IP'.split(' '),
    'Fastly-Client-IP',
  ])('what a proxy on this machine brings is refused: %s', async (name) => {
    const { status, text } = await get('/api/v1/thing', { [name]: '192.0.2.7' });
    expect([status, text]).toEqual([403, expect.stringContaining('ADMIN_TOKEN')]);
  });

  it('the log-in page leads to the console, and no token is right', async () => {
    expect((await getPage('/login')).headers.location).toBe('/');
    expect(await logIn()).toMatchObject({ status: 401, headers: {} });
  });
});

describe('every answer', () => {
  beforeEach(() => start(TOKEN));

  const CONTENT_SECURITY_POLICY = new RegExp(
    [
      "^default-src 'none'",
      "script-src 'self' 'sha256-[\\w+/=]+'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'$",
    ].join(';'),
  );

  it.each(['/login', '/healthz', '/page', '/api/v1/thing', '/metrics', '/nowhere', '/api/v1/nowhere'])(
    'is kept by nobody, framed by nobody, and nothing but our files runs in it: %s',
    async (path) => {
      for (const headers of [{}, { Accept: 'text/html' }, { Authorization: `Bearer ${TOKEN}` }]) {
        const { headers: answered } = await get(path, headers);
        expect(answered['content-security-policy']).toMatch(CONTENT_SECURITY_POLICY);
        expect(answered).toMatchObject({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'same-origin',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
        });
      }
      expect((await get(path)).headers).not.toHaveProperty('x-powered-by');
    },
  );

  it('that went wrong before it was asked who it is tells nothing', async () => {
    const question = formOf({ token: TOKEN });
    const answer = await ask(admin.url, {
      ...question,
      headers: { ...question.headers, 'Sec-Fetch-Site': 'cross-site', 'Content-Length': '99999' },
      body: 'x'.repeat(99_999),
    });
    expect(answer.status).toBe(403);
    expect(answer.text).not.toMatch(/\.ts|node_modules|<script/);
  });
});
