import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { Provider, type ClientMetadata } from 'oidc-provider';
import { vi } from 'vitest';
import { z } from 'zod';
import type { OpenIdConfig } from '../../src/config/config.ts';
import type { CookieJar } from './cookie-jar.ts';
import { listen } from './listen.ts';

export const CLIENT_ID = 'xiq-sink';
const CLIENT_SECRET = 'client-secret-0123456789-0123456789';

/** The claims of a person beside `sub`. */
export type PersonClaims = Readonly<Record<string, unknown>>;

export interface ProviderOptions {
  readonly redirectUri: string;
  /** People by subject, which is also what they type to log in. */
  readonly people: Readonly<Record<string, PersonClaims>>;
  readonly client?: Partial<ClientMetadata>;
  /** Whether the ID token has the claims of the scopes, too, or UserInfo alone. */
  readonly claimsInIdToken?: boolean;
}

/** A real identity provider, `oidc-provider`, on a port of this machine. */
export interface RunningProvider {
  readonly issuer: string;
  /** The key of its signatures. */
  readonly key: KeyObject;
  /** The paths of its endpoints that were called: `/token`, `/jwks`, `/me`, ... */
  readonly calls: string[];
  /** Changes the answer of an endpoint. */
  tamper: (path: string, body: unknown) => unknown;
  close(): Promise<void>;
}

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

const SCOPE_CLAIMS = {
  openid: ['sub'],
  profile: ['preferred_username', 'groups', 'realm_access'],
  email: ['email', 'email_verified'],
};

export async function startOpenIdProvider(options: ProviderOptions): Promise<RunningProvider> {
  const { people, redirectUri, client, claimsInIdToken = false } = options;
  let answer: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => answer(request, response));
  const issuer = `http://127.0.0.1:${await listen(server)}`;

  const { privateKey: key } = newKey();
  // It warns that its store and its pages are for tests only.
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        ...client,
      },
    ],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' }] },
    cookies: { keys: ['provider-cookie-key'] },
    claims: SCOPE_CLAIMS,
    conformIdTokenClaims: !claimsInIdToken,
    pkce: { required: () => true },
    ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    findAccount: (_context, accountId) =>
      people[accountId] === undefined
        ? undefined
        : { accountId, claims: async () => ({ ...people[accountId], sub: accountId }) },
    // Nobody is asked for consent.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId,
        accountId: oidc.session?.accountId,
      });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  warn.mockRestore();
  const running: RunningProvider = {
    issuer,
    key,
    calls: [],
    tamper: (_path, body) => body,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  provider.use(async (context, next) => {
    running.calls.push(context.path);
    await next();
    const body: unknown = context.body;
    context.body = await running.tamper(context.path, body);
  });
  const serve = provider.callback();
  answer = (request, response) => void serve(request, response);
  return running;
}

/** Follows a link that starts a log-in to the provider, and logs in there. The address that it sends the browser back to. */
export async function logInAtProvider(jar: CookieJar, link: string, subject: string): Promise<URL> {
  const form = await jar.follow(link);
  const sent = await jar.ask(form.address.href, { prompt: 'login', login: subject, password: 'x' });
  const back = new URL(sent.headers.location ?? '', form.address);
  const isCallback = ({ pathname }: URL) => pathname === '/login/openid/callback';
  return (await jar.follow(back.href, isCallback)).address;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The claims of a token. */
export function claimsOf(token: string): Record<string, unknown> {
  const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
  return z.record(z.string(), z.unknown()).parse(JSON.parse(claims));
}

/** A token of these claims, signed with RS256. */
export function signToken(claims: object, key: KeyObject, header: object = {}): string {
  const signed = `${encode({ alg: 'RS256', kid: 'test', ...header })}.${encode(claims)}`;
  return `${signed}.${createSign('sha256').update(signed).sign(key, 'base64url')}`;
}

/** A token of these claims without a signature. */
export const unsignedToken = (claims: object): string => `${encode({ alg: 'none' })}.${encode(claims)}.`;

/** A key that is not the provider's. */
export const otherKey = (): KeyObject => newKey().privateKey;

/** The settings of a console that logs in with the provider. */
export const openIdConfig = (
  { issuer }: Pick<RunningProvider, 'issuer'>,
  consoleUrl: string,
  settings: Partial<OpenIdConfig> = {},
): OpenIdConfig => ({
  issuer,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  scopes: 'openid profile email',
  roleClaim: 'groups',
  roles: [
    { group: 'netops', value: 'operator' },
    { group: 'audit-team', value: 'auditor' },
    { group: 'admins', value: 'admin' },
  ],
  sources: undefined,
  consoleUrl,
  ...settings,
});
