import { isPrivate } from '../lib/loopback.ts';

/**
 * Returns the service address without a trailing slash; a path prefix is kept. Throws a TypeError if it is not an http(s)
 * address, if it is http to another machine (credentials could be intercepted), or if it contains more than an address.
 * In the last case the error does not quote it, because it may contain a password.
 */
export function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(
      `The cloud's address must start with https:// or http://, got '${withoutUserInfo(text)}'`,
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `The cloud's address must not contain a user name, query or fragment: set https://host/prefix and the credentials separately`,
    );
  }
  if (!isPrivate(url)) {
    throw new TypeError(`The cloud's address must start with https://, got '${url.href}'`);
  }
  return url.href.replace(/\/+$/, '');
}

const withoutUserInfo = (text: string): string => text.replace(/^.*@/s, '...@');

/**
 * Builds a path from a template. Each value becomes one percent-encoded segment; the template itself stays as written,
 * including `:verb` segments. Throws a TypeError if a value can't be a segment.
 */
export function path(template: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: template }, ...values.map(segment));
}

function segment(value: string): string {
  if (value === '' || value === '.' || value === '..') {
    throw new TypeError(`'${value}' can't be an identifier in a path of the cloud's API`);
  }
  return encodeURIComponent(value);
}
