import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { cached } from '../../src/lib/cached.ts';

describe('a cached value', () => {
  it('is loaded once for all calls within its time, and again after it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    let loads = 0;
    const read = cached(async () => (loads += 1), { keepMs: 50, timeoutMs: 1_000 });
    expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
    vi.advanceTimersByTime(49);
    expect(await read()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await read()).toBe(2);
  });

  it('is undefined if loading fails or takes too long, and is loaded again later', async () => {
    const answers = [
      () => Promise.reject(new Error('away')),
      () => new Promise<string>(() => undefined),
      async () => 'in time',
    ];
    const read = cached(() => (answers.shift() ?? (async () => 'again'))(), { keepMs: 0, timeoutMs: 20 });
    expect(await read()).toBeUndefined();
    expect(await read()).toBeUndefined();
    expect(await read()).toBe('in time');
  });
});
