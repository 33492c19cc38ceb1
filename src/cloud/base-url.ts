import { isPrivate } from '../loopback.ts';

/**
 * The service address without a trailing slash, a path prefix kept. Throws when it is not an http(s) address, when it
 * is http off this machine (the credentials could be read on the way), or when it carries more than an address; the
 * error then does not repeat it, since it may hold a password.
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
      `The cloud's address takes no user name, query or fragment: give https://host/prefix, credentials apart`,
    );
  }
  if (!isPrivate(url)) {
    throw new TypeError(`The cloud's address must start with https://, got '${url.href}'`);
  }
  return url.href.replace(/\/+$/, '');
}

function withoutUserInfo(text: string): string {
  return text.replace(/^.*@/s, '...@');
}
