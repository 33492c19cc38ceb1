import type { Route } from './route.ts';

/**
 * Literal segments before parameters, so that `/users/me` is not taken for a user: in code units `{` comes after every
 * letter.
 */
export function inOrder(routes: readonly Route[]): Route[] {
  return [...routes].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The route that serves a call; the address may be a path, also with `{name}` in it, or a whole URL. */
export function findRoute(routes: readonly Route[], method: string, uri: string): Route | undefined {
  const path = uri.replace(/^https?:\/\/[^/]+/, '').replace(/[?#].*$/, '');
  return inOrder(routes).find(
    (route) => route.method === method.toUpperCase() && pathPattern(route.path).test(path),
  );
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
