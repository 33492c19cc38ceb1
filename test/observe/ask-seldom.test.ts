import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { askSeldom } from '../../src/observe/ask-seldom.ts';
import { waitFor } from '../support/wait-for.ts';

describe('a question put seldom', () => {
  it('is asked once for all who ask within its time, and again after it', async () => {
    let asked = 0;
    const ask = askSeldom(async () => (asked += 1), { keepMs: 50, patienceMs: 1_000 });
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
    await waitFor(async () => (await ask()) === 2);
  });

  it('has no answer when it fails or takes too long, and gets one again later', async () => {
    const answers = [
      () => Promise.reject(new Error('away')),
      () => sleep(1_000, 'late', { ref: false }),
      async () => 'in time',
    ];
    const ask = askSeldom(() => (answers.shift() ?? (async () => 'again'))(), { keepMs: 0, patienceMs: 20 });
    expect(await ask()).toBeUndefined();
    expect(await ask()).toBeUndefined();
    expect(await ask()).toBe('in time');
  });
});
