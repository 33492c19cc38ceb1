import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashPassword, isPassword, newPassword } from '../../../src/console/access/passwords.ts';
import { HttpError } from '../../../src/errors.ts';

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

  it('is never right without a hash', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        expect(await isPassword(text, null)).toBe(false);
        expect(await isPassword(text, undefined)).toBe(false);
      }),
      { numRuns: 3 },
    );
  });

  it('is verified with the cost that its hash names, so that the cost can be raised', async () => {
    // RFC 7914, section 12: scrypt("pleaseletmein", "SodiumChloride", 16384, 8, 1), its first 32 bytes.
    const salt = Buffer.from('SodiumChloride').toString('base64url');
    const key = Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2', 'hex');
    expect(await isPassword('pleaseletmein', `scrypt$16384$8$1$${salt}$${key.toString('base64url')}`)).toBe(
      true,
    );
  });

  it('that is generated has 25 characters of 32, all different', () => {
    const made = Array.from({ length: 1_000 }, newPassword);
    expect(new Set(made).size).toBe(1_000);
    for (const password of made) expect(password).toMatch(/^(?:[a-km-np-z2-9]{5}-){4}[a-km-np-z2-9]{5}$/);
  });
});

describe('100 log-ins at once', () => {
  it('use the memory of two, keep the event loop free, and refuse those beyond 50 waiting ones', async () => {
    const hash = await hashPassword('the password of everyone');
    const before = process.memoryUsage().rss;
    let mostMemory = before;
    // The longest turn of the event loop, in processor time of its thread: other programs on the machine do not count.
    let longestTurnMs = 0;
    let usedBefore = process.threadCpuUsage();
    const sample = () => {
      const { user, system } = process.threadCpuUsage(usedBefore);
      usedBefore = process.threadCpuUsage();
      longestTurnMs = Math.max(longestTurnMs, (user + system) / 1_000);
      mostMemory = Math.max(mostMemory, process.memoryUsage().rss);
    };
    const sampler = setInterval(sample, 5);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const began = performance.now();
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, n) =>
        isPassword(n % 2 === 0 ? 'the password of everyone' : 'wrong', hash),
      ),
    );
    const seconds = (performance.now() - began) / 1_000;
    // A loop that was held up all the time has not sampled.
    sample();
    delay.disable();
    clearInterval(sampler);
    const right = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
    expect(right.slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, n) => n % 2 === 0));
    const refused = results.flatMap((result): unknown[] =>
      result.status === 'rejected' ? [result.reason] : [],
    );
    expect(refused).toHaveLength(48);
    for (const reason of refused) expect(reason).toMatchObject({ status: 503, retryAfter: 5 });
    expect(refused[0]).toBeInstanceOf(HttpError);
    const delayMs = delay.percentile(99) / 1e6;
    const extraMiB = (mostMemory - before) / 1024 ** 2;
    process.stdout.write(
      `log-ins: 100 at once, 52 checked in ${seconds.toFixed(1)} s, event loop p99 ${delayMs.toFixed(0)} ms, ` +
        `its longest turn ${longestTurnMs.toFixed(0)} ms, ` +
        `memory +${extraMiB.toFixed(0)} MiB\n`,
    );
    expect(longestTurnMs).toBeLessThan(50);
    expect(extraMiB).toBeLessThan(160);
  });
});
