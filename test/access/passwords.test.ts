import { describe, expect, it } from 'vitest';
import { hashPassword, hasPasswordLength, isPassword, newPassword } from '../../src/access/passwords.ts';
import { hashCheaply } from '../support/accounts.ts';

describe('a password', () => {
  it('is right for its hash alone, in either Unicode form, and each hash has its own salt', async () => {
    const [one, other] = await Promise.all([
      hashPassword('caf\u00E9 au lait'),
      hashPassword('caf\u00E9 au lait'),
    ]);
    expect(one).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
    expect(one).not.toBe(other);
    expect(await isPassword('caf\u00E9 au lait', other)).toBe(true);
    expect(await isPassword('cafe\u0301 au lait', one)).toBe(true);
    expect(await isPassword('cafe au lait', one)).toBe(false);
    expect(await isPassword('', one)).toBe(false);
  });

  it('is never right without a hash, which takes as long', async () => {
    const began = process.cpuUsage();
    expect(await isPassword('', null)).toBe(false);
    expect(await isPassword('AAAA', undefined)).toBe(false);
    // Twice 32 MiB, each read and written three times: far more than an answer without any work.
    expect(process.cpuUsage(began).user).toBeGreaterThan(50_000);
  });

  it('is verified with the cost that its hash names, so that the cost can be raised', async () => {
    // RFC 7914, section 12: scrypt("pleaseletmein", "SodiumChloride", 16384, 8, 1), its first 32 bytes.
    const salt = Buffer.from('SodiumChloride').toString('base64url');
    const key = Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2', 'hex');
    expect(await isPassword('pleaseletmein', `scrypt$16384$8$1$${salt}$${key.toString('base64url')}`)).toBe(
      true,
    );
  });

  it('is not hashed while too many are checked', async () => {
    const cheap = hashCheaply('');
    const checks = Array.from({ length: 51 }, () => isPassword('', cheap, true));
    await expect(hashPassword('correct horse battery')).rejects.toThrow('too many people are logging in');
    await Promise.all(checks);
  });

  it('that is generated has 25 characters of 32, all different', () => {
    const made = Array.from({ length: 1_000 }, newPassword);
    expect(new Set(made).size).toBe(1_000);
    for (const password of made) expect(password).toMatch(/^(?:[a-km-np-z2-9]{5}-){4}[a-km-np-z2-9]{5}$/);
  });

  it('is refused while 50 others wait, those of known browsers apart', async () => {
    const hash = hashCheaply('right');
    const settled = async (count: number, isKnown: boolean) => {
      const ends = await Promise.allSettled(
        Array.from({ length: count }, () => isPassword('right', hash, isKnown)),
      );
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : (end.reason as unknown)));
    };
    const busy = expect.objectContaining({ status: 503, code: 'TOO_MANY_LOG_INS', retryAfter: 5 }) as unknown;
    // One or two are checked at a time.
    expect(await Promise.all([settled(53, false), settled(52, true)])).toEqual([
      [...Array<boolean>(52).fill(true), busy],
      [...Array<boolean>(51).fill(true), busy],
    ]);
  });

  it('has 12 to 1,000 characters', () => {
    expect([11, 12, 1_000, 1_001].filter((length) => hasPasswordLength('x'.repeat(length)))).toEqual([
      12, 1_000,
    ]);
  });
});
