import { readFileSync, accessSync, constants } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { closestName } from '../lib/text/closest-name.ts';
import { CLOUD_TYPES } from '../events/domain.ts';
import { isPrivate } from '../lib/loopback.ts';
import { ACCOUNT_ROLES } from '../store/access/permissions.ts';
import { problemOfRedisUrl } from '../lib/redis-address.ts';
import { secretsKeyOf } from './sealed-secret.ts';

/** Shorter secrets can be guessed by brute force. */
const MIN_SECRET_LENGTH = 16;

/**
 * An object of the settings file. An unknown member is an error, which names the known one that it may be a
 * misspelling of.
 */
export const strictSettings = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownMembers(issue.keys, Object.keys(shape)) : undefined,
  });

function unknownMembers(unknown: readonly string[], known: readonly string[]): string {
  return unknown
    .map((name) => {
      const meant = closestName(name, known);
      return `unknown setting "${name}"${meant === undefined ? ` (known: ${known.join(', ')})` : `: did you mean "${meant}"?`}`;
    })
    .join('; ');
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

/** For a parse of settings: what is wrong with a value of which its schema says nothing itself. */
export const plainProblems: { readonly error: z.core.$ZodErrorMap } = {
  error(issue) {
    if (issue.code === 'unrecognized_keys')
      return `unknown setting ${issue.keys.map((name) => `"${name}"`).join(', ')}`;
    if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
    if (issue.code !== 'invalid_type') return undefined;
    return issue.input === undefined ? 'is missing' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
  },
};

/** A name that people give something in the settings. */
export const settingName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, - and _');

export const choice = <const Word extends string>(...words: Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`);

export const share = z
  .string()
  .regex(/^(?:0?\.\d+|0|1(?:\.0+)?)$/, 'must be a number from 0 to 1')
  .transform(Number);

const textWithout = (problemOf: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const problem = problemOf(text);
    if (problem !== undefined) context.addIssue(problem);
  });

/** A database. Its text contains a password, so no message repeats a part of it. */
export const databaseUrl = textWithout(problemOfDatabaseUrl);

/** A server of the queue: one Redis, sentinels, or a Redis Cluster. */
export const redisUrl = textWithout(problemOfRedisUrl);

/** The beginning of keys in Redis. Braces have a meaning of their own in a Redis Cluster. */
export const queuePrefix = z
  .string()
  .regex(/^[\w.:-]{1,64}$/, 'must be up to 64 letters, digits, or any of _ . : -');

/** An http(s) address that paths are appended to: a host and an optional path prefix, without a trailing slash. */
export const baseUrl = z
  .string()
  .refine(isBaseUrl, 'must be an address such as https://host/prefix, without user name, query or fragment')
  .transform((text) => new URL(text).href.replace(/(?<!\/)\/+$/, ''));

/** The address of the cloud's API. Credentials are sent there, so nobody on the way may read them. */
export const cloudApiUrl = baseUrl.refine(
  (text) => isPrivate(new URL(text)),
  'must be an https:// address, or http:// on this machine',
);

/** An address that checkpoints are posted to. Its path or query may contain a secret. */
export const anchorUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && isPrivate(url) && url.username === '';
}, 'must be an https:// address, or http:// on this machine, without user name');

/** The address of this program's console, as browsers see it. Logins come back there, so nobody on the way may read them. */
export const consoleUrl = baseUrl.refine(
  (text) => new URL(text).pathname === '/' && isPrivate(new URL(text)),
  'must be an https:// address without a path, such as https://xiq-sink.example (or http:// on this machine)',
);

const BUCKET = /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?<folders>(?:\/[\w.!*'()=-]+)*)\/?$/;

/** A bucket, and the beginning of its objects' names: with a slash at its end, or empty. */
export const bucketUrl = z.string().transform((text, context) => {
  const { bucket, folders = '' } = BUCKET.exec(text)?.groups ?? {};
  if (bucket !== undefined) return { bucket, prefix: folders === '' ? '' : `${folders.slice(1)}/` };
  context.addIssue('must be a bucket with an optional prefix, such as s3://network-archive/xiq');
  return z.NEVER;
});

/** The identifier of an OpenID Connect issuer. It keeps a slash at its end, because tokens repeat it exactly. */
export const issuerUrl = z
  .string()
  .refine(
    (text) => isBaseUrl(text) && isPrivate(new URL(text)),
    'must be an https:// address (or http:// on this machine) without user name, query or fragment',
  );

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.href === url.origin + url.pathname;
}

export const webhookSecret = z
  .string()
  .min(MIN_SECRET_LENGTH, `must be at least ${MIN_SECRET_LENGTH} characters (try: openssl rand -hex 32)`)
  .regex(/^[\u0021-\u007e]+$/, 'must be printable ASCII characters without spaces');

/** A bearer token: what an HTTP header can carry. */
export const bearerToken = z
  .string()
  .regex(/^[\u0021-\u007e]+$/, 'must be printable ASCII characters without spaces');

/** Message types, each once. */
export const messageTypes = z
  .array(z.enum(CLOUD_TYPES, `must be message types: any of ${CLOUD_TYPES.join(', ')}`))
  .min(1, 'must contain at least one message type')
  .transform((types) => [...new Set(types)]);

/** The parts of a comma separated text, without the spaces around them. */
export const commaSeparated = z.string().transform((text) => text.split(',').map((part) => part.trim()));

const WITNESS = /^(?<publicKey>[^\s+]+\+[\da-f]{8}\+[A-Za-z0-9+/]{44})\s+(?<url>\S+)$/;

/** Witnesses of checkpoints: of each the public key and the address, with a space between. */
export const witnesses = commaSeparated.transform((parts, context) =>
  parts.flatMap((part) => {
    const { publicKey = '', url = '' } = WITNESS.exec(part)?.groups ?? {};
    const address = cloudApiUrl.safeParse(url);
    if (address.success) return [{ publicKey, url: address.data }];
    context.addIssue(
      'must be public keys, each followed by a space and an https:// address, comma separated',
    );
    return [];
  }),
);

const KEY = /^[A-Za-z0-9+/]{43}=$/;

const KEYS = `must be one or two keys of 32 bytes in base64 (try: openssl rand -base64 32), or paths of files that contain a key, comma separated`;

/** The keys that encrypt secrets in the database, themselves or as paths of files. The first encrypts, all decrypt. */
export const secretsKeys = commaSeparated.transform((parts, context) => {
  const keys = parts.flatMap((part) => {
    const key = KEY.test(part) ? part : readKey(part);
    return KEY.test(key) ? [secretsKeyOf(Buffer.from(key, 'base64'))] : [];
  });
  if (keys.length === parts.length && keys.length <= 2) return keys;
  context.addIssue(KEYS);
  return z.NEVER;
});

function readKey(file: string): string {
  try {
    return path.isAbsolute(file) ? readFileSync(file, 'utf8').trim() : '';
  } catch {
    return '';
  }
}

/** The scopes of a login by OpenID Connect. Without `openid` there is no ID token. */
export const openIdScopes = z
  .string()
  .regex(/^[\u0021-\u007e]+(?: [\u0021-\u007e]+)*$/, 'must be scopes, separated by single spaces')
  .refine((text) => text.split(' ').includes('openid'), 'must contain the scope openid');

/** A value for each of several groups: `netops=operator,admins=admin`. A group may contain `=`, but no comma. */
const valuesOfGroups = <Value extends string>(value: z.ZodType<Value>, message: string) =>
  commaSeparated.transform((parts, context) => {
    const pairs = parts.map((part) => {
      const at = part.lastIndexOf('=');
      return { group: part.slice(0, Math.max(at, 0)).trim(), value: part.slice(at + 1).trim() };
    });
    const { data } = z.array(z.object({ group: z.string().min(1), value })).safeParse(pairs);
    if (data !== undefined) return data;
    context.addIssue(message);
    return z.NEVER;
  });

export const rolesOfGroups = valuesOfGroups(
  z.enum(ACCOUNT_ROLES),
  `must be groups with a role each, such as netops=operator,admins=admin (roles: ${ACCOUNT_ROLES.join(', ')})`,
);

export const sourcesOfGroups = valuesOfGroups(
  z.string().regex(/^(?:\*|[a-z0-9][a-z0-9_-]{0,62})$/),
  'must be groups with a source each, such as team-a=customer-a,netops=* (* for all sources)',
);

const MAX_PROXIES = 16;

/** Express's names for the private networks. */
const PROXY_NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

const proxyAddress = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6(), z.enum(PROXY_NETWORKS)]);

/** The proxies in front of this program: how many, or their addresses. A network of all addresses (`/0`) is refused. */
export const trustedProxies = commaSeparated
  .refine(
    (parts) =>
      isProxyCount(parts) ||
      parts.every((part) => proxyAddress.safeParse(part).success && !part.endsWith('/0')),
    `must be the number of proxies in front (1 to ${MAX_PROXIES}), or their addresses and networks, comma separated (or ${PROXY_NETWORKS.join(', ')})`,
  )
  .transform((parts) => (isProxyCount(parts) ? Number(parts[0]) : parts));

function isProxyCount([count = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && /^\d{1,2}$/.test(count) && Number(count) >= 1 && Number(count) <= MAX_PROXIES;
}

/** The values of `sslmode` (PostgreSQL manual, "SSL Support" of libpq), and one of pg's own. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

const FILES = ['sslrootcert', 'sslcert', 'sslkey'];

const HOW_TO_ENCODE =
  'must be a URL such as postgresql://user:password@host:5432/database: percent-encode special characters in user name and password: % as %25, @ as %40, / as %2F, # as %23, ? as %3F, : as %3A, space as %20';

/** Why this is not the URL of a database, in words that contain no part of it. Undefined: it is one. */
export function problemOfDatabaseUrl(text: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(text)) {
    return 'must be a URL that begins with postgres:// or postgresql://';
  }
  const url = URL.parse(text);
  // An unencoded / ? or # ends the part that the password belongs to, and leaves its @ behind.
  const afterAuthority = text.replace(/^\w+:\/\/[^/?#]*/, '');
  const isEncoded = !/#|%(?![\da-f]{2})|\s/i.test(text) && !afterAuthority.includes('@');
  if (url === null || !isEncoded) return HOW_TO_ENCODE;
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) {
    return `has an unknown sslmode: use one of ${SSL_MODES.join(', ')}`;
  }
  if (mode === 'verify-ca' && !url.searchParams.has('sslrootcert')) {
    return 'needs sslrootcert for sslmode=verify-ca: the file with the certificate of the authority';
  }
  if (url.searchParams.has('sslcert') !== url.searchParams.has('sslkey')) {
    return 'needs both sslcert and sslkey, or neither';
  }
  return FILES.map((name) => problemOfFile(name, url.searchParams.get(name))).find((found) => found);
}

function problemOfFile(parameter: string, file: string | null): string | undefined {
  if (file === null || (parameter === 'sslrootcert' && file === 'system')) return undefined;
  try {
    accessSync(file, constants.R_OK);
    return undefined;
  } catch {
    return `names a file in ${parameter} that can't be read: ${file}`;
  }
}
