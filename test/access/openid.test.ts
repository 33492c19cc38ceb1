import express from 'express';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../support/ask.ts';
import { createOpenId, type OpenId } from '../../src/access/openid.ts';
import { createOpenIdCookies } from '../../src/access/openid-cookie.ts';
import { serveOpenId } from '../../src/console/access/openid-pages.ts';
import type { Person } from '../../src/access/openid-person.ts';
import type { OpenIdConfig } from '../../src/config/config.ts';
import { createHttpListener, type HttpListener } from '../../src/ingest/http-listener.ts';
import { createCookieJar } from '../support/cookie-jar.ts';
import {
  claimsOf,
  CLIENT_ID,
  openIdConfig,
  logInAtProvider,
  otherKey,
  signToken,
  startOpenIdProvider,
  unsignedToken,
  type PersonClaims,
  type ProviderOptions,
  type RunningProvider,
} from '../support/openid-provider.ts';

const PEOPLE: Record<string, PersonClaims> = {
  'sub-ada': { preferred_username: 'ada', groups: ['everyone', 'netops'] },
  'sub-other-ada': { preferred_username: 'ada', groups: ['admins'] },
  'sub-both': { preferred_username: 'both', groups: ['netops', 'audit-team'] },
  'sub-all': { preferred_username: 'all', groups: ['netops', 'audit-team', 'admins', 'team-a', 'team-b'] },
  'sub-verified': { email: 'eve@example.com', email_verified: true, groups: 'audit-team' },
  'sub-unverified': { email: 'ceo@example.com', email_verified: false, groups: ['audit-team'] },
  'sub-forged': { preferred_username: 'a\u202Eb', groups: ['audit-team'] },
  'sub-nobody': { preferred_username: 'nobody', groups: ['everyone'] },
  'sub-no-claim': { preferred_username: 'no-claim' },
  'sub-strange': { preferred_username: 'strange', groups: { admins: true, 0: 'admins' } },
  'sub-nested': { preferred_username: 'nested', realm_access: { roles: ['admins'] } },
};

/** The console and its provider, each on a port of this machine; who was let in, and the lines of the log. */
interface Running {
  readonly provider: RunningProvider;
  readonly openId: OpenId;
  readonly url: string;
  readonly people: Person[];
  readonly lines: string[];
  close(): Promise<void>;
}

let running: Running;
let now = 0;

async function start(
  settings: Partial<OpenIdConfig> = {},
  options: Partial<ProviderOptions> = {},
  timeoutSeconds = 10,
): Promise<Running> {
  let serve: express.RequestHandler = (_request, response) => void response.status(503).end();
  const app = express();
  app.use((request, response, next) => serve(request, response, next));
  const listener: HttpListener = createHttpListener(app, undefined);
  const url = `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
  const provider = await startOpenIdProvider({
    redirectUri: `${url}/login/openid/callback`,
    people: PEOPLE,
    ...options,
  });
  const config = openIdConfig(provider, url, settings);
  now = Date.now();
  const openId = createOpenId(config, { now: () => now, timeoutSeconds });
  const [people, lines]: [Person[], string[]] = [[], []];
  let failures = 0;
  serve = serveOpenId({
    openId,
    cookies: createOpenIdCookies(config, () => now),
    beginSession: async (person, _request, response) => {
      people.push(person);
      response.cookie('session', 'begun');
    },
    showProblem: async (response, status, problem) => void response.status(status).send(problem),
    countFailure: async () => ((failures += 1) > 20 ? 60 : undefined),
    logRefusal: ({ status }, message) => void lines.push(`${status} ${message}`),
  });
  return {
    provider,
    openId,
    url,
    people,
    lines,
    async close() {
      await listener.close();
      await provider.close();
    },
  };
}

const startLink = (next = '/') => `${running.url}/login/openid?next=${encodeURIComponent(next)}`;

/** A whole log-in; the answer of the callback. */
async function logIn(subject: string, change: (callback: URL) => void = () => undefined) {
  const jar = createCookieJar();
  const callback = await logInAtProvider(jar, startLink(), subject);
  change(callback);
  return { jar, callback, answer: await jar.ask(callback.href) };
}

describe('with a provider that works', () => {
  beforeAll(async () => {
    running = await start();
  });
  afterAll(() => running.close());
  beforeEach(() => {
    running.people.length = 0;
    running.lines.length = 0;
    running.provider.calls.length = 0;
  });
  afterEach(() => {
    running.provider.tamper = (_path, body) => body;
    now = Date.now();
  });

  it('a log-in leads through the provider back to where the person wanted to go', async () => {
    const jar = createCookieJar();
    const callback = await logInAtProvider(jar, startLink('/events?a=1&b=2'), 'sub-ada');
    expect(callback.searchParams.get('iss')).toBe(running.provider.issuer);
    const answer = await jar.ask(callback.href);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('content="0; url=/events?a=1&amp;b=2"');
    const identity = `${running.provider.issuer} sub-ada`;
    expect(running.people).toEqual([{ identity, name: 'ada', role: 'operator', sources: undefined }]);
    expect([jar.cookies.has('session'), jar.cookies.has('xiq_sink_openid')]).toEqual([true, false]);
    expect(running.lines).toEqual([]);
  });

  it('a log-in asks for a code with PKCE, state and nonce, each new', async () => {
    const [first, second] = [await running.openId.start(), await running.openId.start()];
    expect(Object.fromEntries(first.address.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: `${running.url}/login/openid/callback`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
      state: first.pending.state,
      nonce: first.pending.nonce,
    });
    expect(first.address.href).not.toContain(first.pending.verifier);
    const values = [first, second].flatMap(({ pending }) => [pending.state, pending.nonce, pending.verifier]);
    expect(new Set(values).size).toBe(6);
    for (const value of values) expect(value.length).toBeGreaterThanOrEqual(43);
  });

  it('a log-in is kept in a cookie that scripts cannot read, and that the browser sends when it comes from the provider', async () => {
    const { headers } = await createCookieJar().ask(`${running.url}/login/openid`);
    const [, ...attributes] = headers['set-cookie']?.[0]?.split('; ') ?? [];
    expect(attributes.filter((one) => !one.startsWith('Expires=')).toSorted()).toEqual([
      'HttpOnly',
      'Max-Age=600',
      'Path=/',
      'SameSite=Lax',
    ]);
  });

  it.each([
    { subject: 'sub-other-ada', name: 'ada', role: 'admin' },
    { subject: 'sub-verified', name: 'eve@example.com', role: 'auditor' },
    { subject: 'sub-unverified', name: 'sub-unverified', role: 'auditor' },
    { subject: 'sub-forged', name: 'sub-forged', role: 'auditor' },
    { subject: 'sub-both', name: 'both', role: 'operator' },
    { subject: 'sub-all', name: 'all', role: 'admin' },
  ])('$subject is recorded as $name, with the role $role', async ({ subject, name, role }) => {
    await logIn(subject);
    const identity = `${running.provider.issuer} ${subject}`;
    expect(running.people).toMatchObject([{ identity, name, role }]);
  });

  it.each([
    { subject: 'sub-nobody', why: 'no group in your claim "groups" has a role' },
    { subject: 'sub-strange', why: 'no group in your claim "groups" has a role' },
    { subject: 'sub-no-claim', why: 'your provider did not send the claim "groups"' },
  ])('$subject is refused, with the claim to look at', async ({ subject, why }) => {
    const { answer, jar } = await logIn(subject);
    expect([answer.status, jar.cookies.has('session'), running.people]).toEqual([403, false, []]);
    expect(answer.text).toContain(why);
    expect(answer.text).toContain('OIDC_ROLES');
    expect(answer.text).not.toContain('everyone');
    expect(running.lines).toHaveLength(1);
  });

  it('a log-in starts only from a page of the console: another site is led to the log-in page', async () => {
    const jar = createCookieJar({ Accept: 'text/html', 'Sec-Fetch-Site': 'cross-site' });
    const { status, headers } = await jar.ask(`${running.url}/login/openid?next=/events`);
    expect([status, headers.location, jar.cookies.size]).toEqual([303, '/login?next=%2Fevents', 0]);
  });

  /** Nobody was let in, the person sees no detail, and the log has one line with the reason. */
  function expectRefusal({ status, text }: Answer, expected: number, reason: RegExp) {
    expect([status, running.people]).toEqual([expected, []]);
    expect(text).not.toMatch(/nonce|claim|JWT|signature|ECONN|verifier|code/i);
    expect(running.lines).toEqual([expect.stringMatching(reason)]);
    expect(running.lines[0]).not.toMatch(/\p{C}/u);
  }

  describe('a callback', () => {
    it('counts once, also if two arrive at the same time and with the cookie, and the provider is not asked again', async () => {
      const jar = createCookieJar();
      const callback = await logInAtProvider(jar, startLink(), 'sub-ada');
      const cookies = new Map(jar.cookies);
      const answers = await Promise.all([jar.ask(callback.href), jar.ask(callback.href)]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
      expect(running.people).toHaveLength(1);
      running.people.length = 0;
      running.provider.calls.length = 0;
      for (const [name, value] of cookies) jar.cookies.set(name, value);
      running.lines.length = 0;
      expectRefusal(await jar.ask(callback.href), 400, /older than 10 minutes/);
      expect(running.provider.calls).toEqual([]);
    });

    it('whose code was redeemed already is refused by the provider', async () => {
      const { address: start, pending } = await running.openId.start();
      const { searchParams } = await logInAtProvider(createCookieJar(), start.href, 'sub-ada');
      expect(await running.openId.finish(searchParams, pending)).toMatchObject({ name: 'ada' });
      const again = running.openId.finish(searchParams, pending);
      await expect(again).rejects.toMatchObject({ status: 401, cause: { error: 'invalid_grant' } });
    });

    it('of the log-in of another person is refused: nobody is logged in as the attacker', async () => {
      const attackers = await logInAtProvider(createCookieJar(), startLink(), 'sub-other-ada');
      expectRefusal(await createCookieJar().ask(attackers.href), 400, /another browser/);
      running.lines.length = 0;
      const victim = createCookieJar();
      await logInAtProvider(victim, startLink(), 'sub-ada');
      expectRefusal(await victim.ask(attackers.href), 400, /another browser/);
    });

    it('with the code of another log-in is refused by PKCE', async () => {
      const stolen = await logInAtProvider(createCookieJar(), startLink(), 'sub-other-ada');
      const { answer } = await logIn('sub-ada', ({ searchParams }) =>
        searchParams.set('code', stolen.searchParams.get('code') ?? ''),
      );
      expectRefusal(answer, 401, /invalid_grant/);
    });

    it('of another process is accepted with the same client secret, for a page that fits in a cookie', () => {
      const config = openIdConfig(running.provider, 'https://sink.example');
      const [one, other] = [1, 2].map(() => createOpenIdCookies(config, () => now));
      expect([one?.name, one?.options.secure]).toEqual(['__Host-xiq_sink_openid', true]);
      const started = { state: 'x', nonce: 'y', verifier: 'z' };
      const nextOf = (next: string, state: string) =>
        other?.open(one?.seal({ ...started, state, next }), state)?.next;
      const [longest, longer] = [1_500, 1_501].map((length) => `/${'x'.repeat(length - 1)}`);
      expect([nextOf(longest ?? '', 'a'), nextOf(longer ?? '', 'b')]).toEqual([longest, '/']);
      const others = createOpenIdCookies({ ...config, clientSecret: 'another' }, () => now);
      expect(others.open(one?.seal({ ...started, next: '/' }), 'x')).toBeUndefined();
    });

    it('is accepted for ten minutes', async () => {
      const after = (ms: number) => logIn('sub-ada', () => void (now += ms));
      const limit = 10 * 60 * 1000;
      expect((await after(limit - 30_000)).answer.status).toBe(200);
      running.people.length = 0;
      expectRefusal((await after(limit)).answer, 400, /older than 10 minutes/);
    });

    it('with a forged cookie is refused', async () => {
      const jar = createCookieJar();
      const callback = await logInAtProvider(jar, startLink(), 'sub-ada');
      const [payload = '', signature = ''] = (jar.cookies.get('xiq_sink_openid') ?? '').split('.');
      const content = Buffer.from(payload, 'base64url').toString();
      const later = Buffer.from(content.replace(/"expiresAt":\d+/, '"expiresAt":9999999999999'));
      const forged = [
        `${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
        `${later.toString('base64url')}.${signature}`,
        later.toString('base64url'),
        '',
      ];
      for (const cookie of forged) {
        running.lines.length = 0;
        jar.cookies.set('xiq_sink_openid', cookie);
        expectRefusal(await jar.ask(callback.href), 400, /another browser/);
      }
    });

    it.each<[string, number, RegExp, (query: URLSearchParams) => void]>([
      ['of another state', 400, /another browser/, (query) => query.set('state', 'x')],
      ['of another issuer (mix-up)', 401, /"iss"/, (query) => query.set('iss', 'https://evil.example')],
      ['without a code', 401, /code/, (query) => query.delete('code')],
      ['with a code that is made up', 401, /invalid_grant/, (query) => query.set('code', 'x')],
      [
        'with an error',
        403,
        /access_denied: because/,
        (query) => {
          query.delete('code');
          query.set('error', 'access_denied');
          query.set('error_description', 'because\u001B[2J\n');
        },
      ],
    ])('%s is refused with %i', async (_name, status, reason, change) => {
      const { answer } = await logIn('sub-ada', ({ searchParams }) => change(searchParams));
      expectRefusal(answer, status, reason);
    });
  });

  describe('an ID token', () => {
    const forgeWith = (forge: (token: string) => string | undefined) => {
      running.provider.tamper = (path, body) => {
        if (path !== '/token' || typeof body !== 'object' || body === null || !('id_token' in body))
          return body;
        return { ...body, id_token: forge(String(body.id_token)) };
      };
    };

    /** The token with other claims, signed by the provider. */
    const withClaims = (claims: object) => (token: string) =>
      signToken({ ...claimsOf(token), ...claims }, running.provider.key);

    const seconds = () => Math.floor(Date.now() / 1000);

    const stranger = otherKey();

    it.each<[string, RegExp, (token: string) => string | undefined]>([
      ['signed by another key', /signature/, (token) => signToken(claimsOf(token), stranger)],
      ['without a signature (alg: none)', /alg/, (token) => unsignedToken(claimsOf(token))],
      [
        'with the signature of other claims',
        /signature/,
        (token) => {
          const [header, , signature] = token.split('.');
          const claims = { ...claimsOf(token), sub: 'sub-other-ada' };
          return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
        },
      ],
      ['for another client', /"aud"/, withClaims({ aud: 'another' })],
      ['of another log-in (nonce)', /"nonce"/, withClaims({ nonce: 'another' })],
      ['that has expired', /"exp"/, withClaims({ iat: seconds() - 3600, exp: seconds() - 60 })],
      ['that is missing', /id_token/, () => undefined],
    ])('%s is refused', async (_name, reason, forge) => {
      forgeWith(forge);
      expectRefusal((await logIn('sub-ada')).answer, 401, reason);
    });

    it('signed again with the key of the provider is accepted, as is one that clocks disagree about by seconds', async () => {
      for (const times of [{}, { exp: seconds() - 5 }, { iat: seconds() + 5 }]) {
        forgeWith(withClaims(times));
        expect((await logIn('sub-ada')).answer.status).toBe(200);
      }
    });

    it('is refused if UserInfo is about somebody else', async () => {
      running.provider.tamper = (path, body) =>
        path === '/me' && typeof body === 'object' ? { ...body, sub: 'sub-other-ada' } : body;
      expectRefusal((await logIn('sub-ada')).answer, 401, /sub/);
    });
  });
});

describe('settings', () => {
  afterEach(() => running.close());

  it('work without a secret, for a public client', async () => {
    running = await start(
      { clientSecret: undefined },
      { client: { client_secret: undefined, token_endpoint_auth_method: 'none' } },
    );
    await logIn('sub-ada');
    expect(running.people).toMatchObject([{ name: 'ada' }]);
  });

  it('send the secret in the body to a provider that takes it only there', async () => {
    running = await start({}, { client: { token_endpoint_auth_method: 'client_secret_post' } });
    running.provider.tamper = (path, body) =>
      path.startsWith('/.well-known') && typeof body === 'object'
        ? { ...body, token_endpoint_auth_methods_supported: ['client_secret_post'] }
        : body;
    await logIn('sub-ada');
    expect(running.people).toMatchObject([{ name: 'ada' }]);
  });

  it('with a wrong secret let nobody in, and the log says which', async () => {
    running = await start({ clientSecret: 'wrong' });
    expect((await logIn('sub-ada')).answer.status).toBe(502);
    expect([running.people, running.lines.length]).toEqual([[], 1]);
    expect(running.lines[0]).toContain('check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET');
    expect(running.lines[0]).not.toContain('wrong');
  });

  it('with claims in the ID token need no call of UserInfo', async () => {
    running = await start({}, { claimsInIdToken: true });
    await logIn('sub-ada');
    expect(running.people).toMatchObject([{ name: 'ada', role: 'operator' }]);
    expect(running.provider.calls).toContain('/token');
    expect(running.provider.calls).not.toContain('/me');
  });

  it('may name a claim by its path', async () => {
    running = await start({ roleClaim: 'realm_access.roles' });
    await logIn('sub-nested');
    expect(running.people).toMatchObject([{ role: 'admin' }]);
    expect((await logIn('sub-ada')).answer.status).toBe(403);
  });

  it('give the role that comes first in them, of two of which neither includes the other', async () => {
    running = await start({
      roles: [
        { group: 'audit-team', value: 'auditor' },
        { group: 'netops', value: 'operator' },
      ],
    });
    await logIn('sub-both');
    expect(running.people).toMatchObject([{ role: 'auditor' }]);
  });

  it('of sources show a person those of all their groups, and refuse who has none', async () => {
    running = await start({
      sources: [
        { group: 'team-b', value: 'customer-b' },
        { group: 'team-a', value: 'customer-a' },
        { group: 'everyone', value: '*' },
      ],
    });
    for (const subject of ['sub-all', 'sub-ada']) await logIn(subject);
    expect(running.people).toMatchObject([{ sources: ['customer-a', 'customer-b'] }, { sources: undefined }]);
    const { answer } = await logIn('sub-both');
    expect([answer.status, answer.text.includes('OIDC_SOURCES')]).toEqual([403, true]);
    expect(running.people).toHaveLength(2);
  });
});

describe('a provider', () => {
  beforeEach(async () => {
    running = await start({}, {}, 0.3);
  });
  afterEach(() => running.close());

  const begin = () => createCookieJar().ask(`${running.url}/login/openid`);

  it('that is away at the first log-in is asked again later, not by each attempt', async () => {
    running.provider.tamper = () => 'Bad Gateway';
    for (let i = 0; i < 5; i += 1) {
      const { status, text } = await begin();
      expect(status).toBe(502);
      expect(text).toContain(new URL(running.provider.issuer).host);
    }
    expect(running.provider.calls).toHaveLength(1);
    expect(running.lines).toHaveLength(5);
    running.provider.tamper = (_path, body) => body;
    now += 9_999;
    expect((await begin()).status).toBe(502);
    now += 1;
    expect((await begin()).status).toBe(303);
    for (let i = 0; i < 5; i += 1) await begin();
    expect(running.provider.calls).toHaveLength(2);
    now += 3_600_000;
    expect((await begin()).status).toBe(303);
    expect(running.provider.calls).toHaveLength(3);
  });

  it.each([
    ['does not answer', /timed out/, () => new Promise<void>(() => undefined)],
    [
      'answers with a page',
      /an HTML page instead of JSON: is there a proxy in between/,
      () => '<html>Log in</html>',
    ],
    ['answers without end', /more than 1048576 bytes/, () => ({ issuer: 'x'.repeat(2 ** 21) })],
    [
      'calls itself something else',
      /issuer/,
      (body: object) => ({ ...body, issuer: 'https://evil.example' }),
    ],
    [
      'sends people to a page that is not encrypted',
      /not an https/,
      (body: object) => ({ ...body, authorization_endpoint: 'http://evil.example/auth' }),
    ],
  ])('that %s is away', async (_name, reason, answer) => {
    running.provider.tamper = (_path, body) => answer(typeof body === 'object' && body !== null ? body : {});
    expect((await begin()).status).toBe(502);
    expect(running.lines).toEqual([expect.stringMatching(reason)]);
  });

  it.each(['/token', '/jwks', '/me'])('that does not answer %s in time is away', async (path) => {
    running.provider.tamper = (asked, body) => (asked === path ? new Promise(() => undefined) : body);
    const { answer } = await logIn('sub-ada');
    expect([answer.status, running.people]).toEqual([502, []]);
    expect(running.lines).toEqual([expect.stringMatching(/timed out/)]);
  });

  it('that is slow keeps 8 callbacks and 64 that wait, and the next is refused at once', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    running.provider.tamper = () => promise;
    const pending = { state: 'x', nonce: 'x', verifier: 'x' };
    const finish = () => running.openId.finish(new URLSearchParams(), pending);
    const waiting = Promise.allSettled(Array.from({ length: 72 }, finish));
    await expect(finish()).rejects.toMatchObject({ status: 503, code: 'OPENID_BUSY' });
    resolve('Bad Gateway');
    const ends = (await waiting).map((end) =>
      end.status === 'rejected' ? (end.reason as unknown) : undefined,
    );
    expect(ends).toEqual(Array(72).fill(expect.objectContaining({ status: 502 })));
    running.provider.tamper = (_path, body) => body;
  });

  it('gets no secret over a connection that is not encrypted', async () => {
    running.provider.tamper = (path, body) =>
      path.startsWith('/.well-known') && typeof body === 'object'
        ? { ...body, token_endpoint: 'http://192.0.2.1/token' }
        : body;
    expect((await logIn('sub-ada')).answer.status).toBe(502);
    expect(running.lines).toEqual([expect.stringMatching(/not an https/)]);
  });

  it('that refuses too many answers of one address makes it wait', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 22; i += 1) {
      const jar = createCookieJar();
      const { headers } = await jar.ask(`${running.url}/login/openid`);
      const state = new URL(headers.location ?? '').searchParams.get('state') ?? '';
      const query = new URLSearchParams({ state, code: 'x', iss: running.provider.issuer });
      statuses.push((await jar.ask(`${running.url}/login/openid/callback?${query}`)).status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429, 429]);
  });
});
