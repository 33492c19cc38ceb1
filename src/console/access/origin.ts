import type { IncomingHttpHeaders } from 'node:http';
import { HttpError } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';

/** What of a request decides whether it may come in. */
export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Refuses what a page of another site makes a browser ask, whether it reads or changes; only a link to a page may be
 * followed. Browsers tell where a request comes from (Fetch Metadata, or Origin); other programs need no protection.
 * Throws HttpError 403.
 */
export function refuseOtherSites(request: AskedRequest): void {
  if (isOfOurPages(request.headers) || isFollowedLink(request)) return;
  throw new HttpError(403, 'OTHER_SITE', 'the request comes from a page of another site');
}

/** Whether a browser came from elsewhere: then it has kept our cookie to itself (SameSite=Strict). */
export function comesFromElsewhere({ headers }: Pick<AskedRequest, 'headers'>): boolean {
  return !isOfOurPages(headers);
}

function isOfOurPages({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

/** The API is left out: some of its answers are written to the operator log, or are large files. */
function isFollowedLink({ method, path, headers }: AskedRequest): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    !path.startsWith('/api/')
  );
}

/** A page of another site could have its own name point to this machine (DNS rebinding). Throws HttpError 403. */
export function refuseOtherNames({ headers: { host } }: AskedRequest): void {
  const address = `http://${host ?? ''}`;
  if (URL.canParse(address) && isLoopback(new URL(address))) return;
  const message = 'without ADMIN_TOKEN only this machine is answered, by its own name (localhost, 127.0.0.1)';
  throw new HttpError(403, 'OTHER_HOST', message);
}

/** What proxies say of themselves (RFC 9110, section 7.6.3; RFC 7239; and what came before it). */
const PROXY_HEADERS = new Set([
  'via',
  'forwarded',
  'cdn-loop',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
]);

/** A proxy on this machine asks from here for people who are not. Throws HttpError 403. */
export function refuseProxies({ headers }: AskedRequest): void {
  const sign = Object.keys(headers).find(
    (name) => PROXY_HEADERS.has(name) || name.startsWith('x-forwarded-'),
  );
  if (sign === undefined) return;
  const message = `behind a proxy ADMIN_TOKEN has to be set (the request carries ${sign})`;
  throw new HttpError(403, 'PROXY', message);
}
