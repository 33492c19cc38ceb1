import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { hashPassword, isPassword } from '../../src/access/passwords.ts';

describe('100 log-ins at once', () => {
  it('use the memory of two, and keep the event loop free', async () => {
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
    const checked = results.filter(({ status }) => status === 'fulfilled').length;
    const delayMs = delay.percentile(99) / 1e6;
    const extraMiB = (mostMemory - before) / 1024 ** 2;
    process.stdout.write(
      `log-ins: 100 at once, ${checked} checked in ${seconds.toFixed(1)} s, event loop p99 ${delayMs.toFixed(0)} ms, ` +
        `its longest turn ${longestTurnMs.toFixed(0)} ms, ` +
        `memory +${extraMiB.toFixed(0)} MiB\n`,
    );
    expect(longestTurnMs).toBeLessThan(50);
    expect(extraMiB).toBeLessThan(160);
  });
});
