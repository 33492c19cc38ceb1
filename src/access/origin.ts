import type { IncomingHttpHeaders } from 'node:http';
import { HttpError } from '../lib/errors.ts';
import { isLoopback } from '../lib/loopback.ts';

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Rejects requests that a page of another site makes a browser send, reading or changing; only links to pages are
 * allowed. Browsers send the origin (Fetch Metadata, or Origin); other programs need no protection. Throws HttpError
 * 403.
 */
export function refuseOtherSites(request: AskedRequest): void {
  if (isOfOurPages(request.headers) || isFollowedLink(request)) return;
  throw new HttpError(403, 'OTHER_SITE', "requests from other sites' pages are not allowed");
}

/** Whether a browser came from another site: it then did not send the cookie (SameSite=Strict). */
export function comesFromElsewhere({ headers }: Pick<AskedRequest, 'headers'>): boolean {
  return !isOfOurPages(headers);
}

function isOfOurPages({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

/** Not for the API: some of its answers are recorded in the operator log, or are large files. */
function isFollowedLink({ method, path, headers }: AskedRequest): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    !path.startsWith('/api/')
  );
}

/** Another site could let its own name resolve to this machine (DNS rebinding). Throws HttpError 403. */
export function refuseOtherNames({ headers: { host } }: AskedRequest): void {
  const address = `http://${host ?? ''}`;
  if (URL.canParse(address) && isLoopback(new URL(address))) return;
  const message =
    'without ADMIN_TOKEN, the console answers only requests from this machine to its own names (localhost, 127.0.0.1)';
  throw new HttpError(403, 'OTHER_HOST', message);
}

/** Headers that proxies add (RFC 9110, section 7.6.3; RFC 7239; RFC 8586), beside all that begin with X-Forwarded. */
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

/** A proxy on this machine forwards requests of people elsewhere. Throws HttpError 403. */
export function refuseProxies({ headers }: AskedRequest): void {
  const sign = Object.keys(headers).find(
    (name) => PROXY_HEADERS.has(name) || name.startsWith('x-forwarded-'),
  );
  if (sign === undefined) return;
  const message = `set ADMIN_TOKEN to use the console through a proxy (the request has the header ${sign})`;
  throw new HttpError(403, 'PROXY', message);
}
