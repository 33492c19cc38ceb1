import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createAttempts } from '../../src/access/attempts.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const unknown = { name: 'idris', isKnown: false };
const network = (n: number) => `192.0.2.${n}`;

/** Attempts whose waits are over at once, with the seconds of each wait. */
function attempts() {
  const waits: number[] = [];
  const clock = { now: Date.now, sleep: async (ms: number) => void waits.push(ms / 1000) };
  return { waits, begin: createAttempts(new AbortController().signal, clock) };
}

it('an attacked account is locked for nobody: each further attempt waits longer, a known browser never', async () => {
  const { waits, begin } = attempts();
  for (let n = 0; n < 20; n += 1) await begin({ ...unknown, address: network(n) });
  expect(waits).toEqual([]);
  for (let n = 0; n < 100; n += 1) await begin({ name: 'İDRIS', isKnown: false, address: network(100 + n) });
  expect(waits).toEqual([1, 2, 4, 8, ...Array<number>(96).fill(15)]);
  await begin({ ...unknown, address: network(1), isKnown: true });
  await begin({ ...unknown, address: network(1), name: 'grace' });
  expect(waits).toHaveLength(100);
  await vi.advanceTimersByTimeAsync(900_001);
  await begin({ ...unknown, address: network(1) });
  expect(waits).toHaveLength(100);
});

it('what a network is refused does not count for the account, and a right password is taken back from both', async () => {
  const { waits, begin } = attempts();
  const address = network(200);
  for (let n = 0; n < 30; n += 1) await (await begin({ ...unknown, address }))();
  for (let n = 0; n < 20; n += 1) await begin({ ...unknown, address });
  for (let n = 0; n < 50; n += 1) await expect(begin({ ...unknown, address })).rejects.toThrow('too many');
  expect(waits).toEqual([]);
  await begin({ ...unknown, address: network(1) });
  expect(waits).toEqual([1]);
});
