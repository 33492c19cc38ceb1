import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import { HttpError } from '../lib/errors.ts';

/** Cost of scrypt (RFC 7914): 32 MiB for each, OWASP's recommendation for this amount of memory. */
const COST = { N: 32_768, r: 8, p: 3 };

const KEY_BYTES = 32;

/**
 * How many passwords are checked at a time: each uses 32 MiB and one of the four threads that also read and write files,
 * so log-ins cannot use up either. A browser that has logged in before does not wait behind those that guess.
 */
const checks = { known: pLimit(1), unknown: pLimit(2) };

/** Log-ins that may wait; at the rate of one core, the last of them waits for several seconds. */
const MAX_WAITING = 50;

/** How many characters a password has that a person chooses. */
export const PASSWORD_LENGTH = { least: 12, most: 1_000 };

export const hasPasswordLength = ({ length }: string): boolean =>
  length >= PASSWORD_LENGTH.least && length <= PASSWORD_LENGTH.most;

/** A generated password: 125 bits, in groups that can be read aloud. */
export function newPassword(): string {
  // Without letters and digits that look alike: 32 characters, so that each has 5 bits.
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
  const letters = Array.from(randomBytes(25), (byte) => alphabet[byte % alphabet.length]);
  return letters.join('').replaceAll(/(.{5})(?=.)/g, '$1-');
}

/** Hashes a password as `scrypt$N$r$p$salt$hash`, each with its own salt. Throws HttpError 503 if too many wait already. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await inTurn(checks.known, () => derive(password, salt, COST));
  const { N, r, p } = COST;
  return ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join('$');
}

/** Verified in place of the hash that an unknown name, or an account without password, does not have. */
const NO_HASH = ['scrypt', COST.N, COST.r, COST.p, 'AAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(43)].join('$');

/**
 * Whether a password is the one that was hashed. Without a hash it takes as long and returns false, so that the time of
 * an answer does not reveal which accounts exist. Throws HttpError 503 if too many log-ins of its kind wait already: those of
 * known browsers, or the others.
 */
export async function isPassword(password: string, hash: string | null = null, isKnown = false) {
  const [, N, r, p, salt = '', key = ''] = (hash ?? NO_HASH).split('$');
  const expected = Buffer.from(key, 'base64url');
  const options = { N: Number(N), r: Number(r), p: Number(p) };
  const derived = await inTurn(isKnown ? checks.known : checks.unknown, () =>
    derive(password, Buffer.from(salt, 'base64url'), options),
  );
  const isSame = expected.length === derived.length && timingSafeEqual(derived, expected);
  return isSame && typeof hash === 'string';
}

async function inTurn<T>(limit: LimitFunction, work: () => Promise<T>): Promise<T> {
  if (limit.pendingCount < MAX_WAITING) return limit(work);
  const message = 'too many people are logging in; try again in a few seconds';
  throw new HttpError(503, 'TOO_MANY_LOG_INS', message, { retryAfter: 5 });
}

function derive(password: string, salt: Buffer, { N, r, p }: typeof COST): Promise<Buffer> {
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
