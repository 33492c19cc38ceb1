import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { OpenIdConfig } from '../config/config.ts';
import type { PendingLogIn } from './openid.ts';

/** Enough to type a password and a second factor at the provider. */
const PENDING_MS = 10 * 60 * 1000;

/** A longer address to continue at would not fit into a cookie. */
const MAX_NEXT_LENGTH = 1500;

/** Logins that ended within the last ten minutes: beyond this many, the provider alone refuses a second use. */
const MAX_ENDED = 10_000;

const pendingSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  expiresAt: z.number(),
});

/** A started login, with the console path to continue at. */
type StartedLogIn = PendingLogIn & { readonly next: string };

export type OpenIdCookies = ReturnType<typeof createOpenIdCookies>;

/**
 * Keeps started logins in a cookie of the browser. The cookie is `SameSite=Lax`, unlike that of the session: the provider
 * sends people back from another site, and the browser would withhold a strict one, so that every login failed. It only
 * lets its browser end the login that it started. Signed, so that neither its age nor its content can be changed; kept by
 * the browser and not by this process, so that strangers who start logins cost no memory, and another console process with
 * the same client secret can end them.
 */
export function createOpenIdCookies(config: OpenIdConfig, now: () => number = Date.now) {
  const { clientSecret, consoleUrl } = config;
  const isTls = consoleUrl.startsWith('https:');
  const key = Buffer.from(
    hkdfSync('sha256', clientSecret ?? randomBytes(32), '', 'xiq-sink console OpenID Connect', 32),
  );
  const ended = new LRUCache<string, true>({ max: MAX_ENDED, ttl: PENDING_MS });
  const sealed = (payload: string) =>
    `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`;
  return {
    // Browsers accept this prefix only from the host itself, under TLS: no neighbour in the domain can plant one.
    name: isTls ? '__Host-xiq_sink_openid' : 'xiq_sink_openid',
    options: { httpOnly: true, sameSite: 'lax', secure: isTls, path: '/', maxAge: PENDING_MS } as const,
    seal({ next, ...pending }: StartedLogIn): string {
      const within = next.length > MAX_NEXT_LENGTH ? '/' : next;
      const payload = JSON.stringify({ ...pending, next: within, expiresAt: now() + PENDING_MS });
      return sealed(Buffer.from(payload).toString('base64url'));
    },
    /**
     * The login that the callback with this state ends: once. Undefined if the cookie is missing, forged or older than ten
     * minutes, if it is that of another login, or if this login has ended already.
     */
    open(value = '', state: string | null): StartedLogIn | undefined {
      const [payload = ''] = value.split('.');
      const offered = Buffer.from(value);
      const expected = Buffer.from(sealed(payload));
      if (offered.length !== expected.length || !timingSafeEqual(offered, expected)) return undefined;
      // Only this program signs, so signed content is a started login.
      const { expiresAt, ...started } = pendingSchema.parse(
        JSON.parse(Buffer.from(payload, 'base64url').toString()),
      );
      if (expiresAt <= now() || started.state !== state || ended.has(started.state)) return undefined;
      ended.set(started.state, true);
      return started;
    },
  };
}
