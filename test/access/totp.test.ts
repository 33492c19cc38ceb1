import * as fc from 'fast-check';
import { HOTP, Secret, URI } from 'otpauth';
import { describe, expect, it } from 'vitest';
import { newTotpSecret, verifyTotp } from '../../src/access/totp.ts';

/** The secret of RFC 6238, appendix B, and its times with the last six of their eight digits (SHA-1). */
const RFC_SECRET = Secret.fromLatin1('12345678901234567890').base32;
const RFC_VECTORS = [
  { seconds: 59, code: '287082' },
  { seconds: 1_111_111_109, code: '081804' },
  { seconds: 1_111_111_111, code: '050471' },
  { seconds: 1_234_567_890, code: '005924' },
  { seconds: 2_000_000_000, code: '279037' },
  { seconds: 20_000_000_000, code: '353130' },
];

const at = (step: number) => new Date(step * 30_000);
const codeOf = (secret: string, step: number) =>
  HOTP.generate({ secret: Secret.fromBase32(secret), counter: step });

describe('a one-time password', () => {
  it.each(RFC_VECTORS)('is that of RFC 6238 at $seconds s', ({ seconds, code }) => {
    const step = Math.floor(seconds / 30);
    expect(verifyTotp(RFC_SECRET, code, undefined, new Date(seconds * 1000))).toBe(step);
    expect(verifyTotp(RFC_SECRET, code, step - 1, new Date(seconds * 1000))).toBe(step);
  });

  it('is accepted in its step and the ones beside it, and only if the step is after the last', () => {
    const steps = fc.integer({ min: 2, max: 2 ** 32 });
    const offsets = fc.integer({ min: -4, max: 4 });
    const last = fc.option(fc.integer({ min: -4, max: 4 }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 20, maxLength: 20 }),
        steps,
        offsets,
        last,
        (bytes, now, by, lastBy) => {
          const secret = new Secret({ buffer: new Uint8Array(bytes).buffer }).base32;
          const lastStep = lastBy === undefined ? undefined : now + lastBy;
          const code = codeOf(secret, now + by);
          const acceptable = [now - 1, now, now + 1].filter((step) => step > (lastStep ?? -1));
          // One in a million codes is that of another step, too.
          const expected = acceptable.find((step) => codeOf(secret, step) === code);
          expect(verifyTotp(secret, code, lastStep, at(now))).toBe(expected);
        },
      ),
    );
  });

  it('may be typed with the space that apps show', () => {
    expect(verifyTotp(RFC_SECRET, ' 287 082', undefined, new Date(59_000))).toBe(1);
  });

  it.each(['', '287082\n', ...'28708 2870822 28708a ２８７０８２ -87082 +87082 287.82 0x1234'.split(' ')])(
    'is never %j',
    (code) => {
      expect(verifyTotp(RFC_SECRET, code, undefined, new Date(59_000))).toBeUndefined();
    },
  );
});

it('a new secret is 160 random bits, in a URI that names the program and the account', () => {
  const made = Array.from({ length: 50 }, () => newTotpSecret('ada lovelace@example.com'));
  expect(new Set(made.map(({ secret }) => secret)).size).toBe(50);
  for (const { secret, uri } of made) {
    expect(Secret.fromBase32(secret).bytes.length).toBe(20);
    expect(URI.parse(uri)).toMatchObject({
      issuer: 'xiq-sink',
      label: 'ada lovelace@example.com',
      algorithm: 'SHA1',
      digits: 6,
      period: 30,
      secret: { base32: secret },
    });
    expect(uri).toMatch(/^otpauth:\/\/totp\/xiq-sink:ada%20lovelace%40example\.com\?/);
  }
});
