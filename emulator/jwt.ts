import { createHmac, timingSafeEqual } from 'node:crypto';

const HEADER = encode({ alg: 'HS256', typ: 'JWT' });

/** Signs claims as a JSON Web Token, HS256. */
export function signJwt(claims: Readonly<Record<string, unknown>>, key: string): string {
  const signed = `${HEADER}.${encode(claims)}`;
  return `${signed}.${signature(signed, key)}`;
}

/** The claims of a token this key signed; undefined for anything else. Expiry is the caller's to check. */
export function readJwt(token: string, key: string): unknown {
  const [header, payload, mac, ...rest] = token.split('.');
  if (header !== HEADER || payload === undefined || mac === undefined || rest.length > 0) return undefined;
  // As text: two texts of base64 can stand for the same bytes.
  const expected = Buffer.from(signature(`${header}.${payload}`, key));
  const given = Buffer.from(mac);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return claims;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function signature(text: string, key: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
