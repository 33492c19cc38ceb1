import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Activity } from '../../src/lib/activity.ts';

test('a rest is short for two seconds after something has happened, then lasts until something does', async () => {
  let now = 0;
  const clockOfTest = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clockOfTest.mockRestore());
  const sleeps: number[] = [];
  const clock = {
    now: Date.now,
    async sleep(ms: number, signal: AbortSignal) {
      sleeps.push(ms);
      if (ms > 100) await once(signal, 'abort');
    },
  };
  const activity = new Activity();
  const rest = () => activity.rest(100, undefined, clock);
  const restUntilStirred = async () => {
    now += 2_000;
    const resting = rest();
    activity.stir();
    await resting;
  };
  await restUntilStirred();
  await rest();
  activity.setTold(true);
  await restUntilStirred();
  activity.setTold(false);
  await restUntilStirred();
  expect(sleeps).toEqual([1_000, 100, 120_000, 1_000]);
});
