import { timingSafeEqual } from 'node:crypto';
import { HOTP, Secret, TOTP } from 'otpauth';

/** Seconds of a time step, and digits of a code: what authenticator apps assume (RFC 6238, section 5.2). */
const PERIOD = 30;
const DIGITS = 6;

/** Steps before and after the current one that are accepted, for slow typing and clocks that differ. */
const WINDOW = 1;

/** 160 bits (RFC 4226, section 4). */
const SECRET_BYTES = 20;

/**
 * A new random secret for one-time passwords, in base32, and the `otpauth://` URI that an authenticator app reads. Both
 * allow anyone to compute the codes of this account.
 */
export function newTotpSecret(account: string): { readonly secret: string; readonly uri: string } {
  const secret = new Secret({ size: SECRET_BYTES }).base32;
  return { secret, uri: totpUri(account, secret) };
}

/** The `otpauth://` URI of a secret that was made before. */
export const totpUri = (account: string, secret: string): string =>
  new TOTP({ issuer: 'xiq-sink', label: account, secret, period: PERIOD, digits: DIGITS }).toString();

/**
 * The time step of a code: the current one, the one before or the one after. Undefined if the code is wrong, or if its
 * step is not after `lastStep`. To refuse a code that was used before (RFC 6238, section 5.2), store the result and pass
 * it as `lastStep` the next time. Spaces in the code are ignored, because apps show it as `123 456`.
 */
export function verifyTotp(
  secret: string,
  code: string,
  lastStep: number | undefined,
  now: Date = new Date(),
): number | undefined {
  const digits = code.replaceAll(' ', '');
  if (!/^\d{6}$/.test(digits)) return undefined;
  const key = Secret.fromBase32(secret);
  const current = TOTP.counter({ period: PERIOD, timestamp: now.getTime() });
  const offered = Buffer.from(digits);
  const first = Math.max(current - WINDOW, (lastStep ?? -1) + 1);
  for (let step = first; step <= current + WINDOW; step += 1) {
    const expected = HOTP.generate({ secret: key, counter: step, digits: DIGITS });
    if (timingSafeEqual(offered, Buffer.from(expected))) return step;
  }
  return undefined;
}
