import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';

test('a sleep that is aborted rejects at once with the reason of the abort', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const sleep = systemClock.sleep(3_600_000, controller.signal);
  controller.abort(reason);
  await expect(sleep).rejects.toBe(reason);
  await expect(systemClock.sleep(3_600_000, controller.signal)).rejects.toBe(reason);
});

test('a sleep lets at least its time pass', async () => {
  const startedAt = performance.now();
  await systemClock.sleep(5);
  expect(performance.now() - startedAt).toBeGreaterThan(3);
});
