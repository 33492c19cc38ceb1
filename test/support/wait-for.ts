import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once the condition holds (its value is truthy); fails loudly after the time-out. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  timeoutMs = 40_000,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== null && value !== false && value !== 0) return value;
    if (Date.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${condition.toString()}`);
    await sleep(20);
  }
}
