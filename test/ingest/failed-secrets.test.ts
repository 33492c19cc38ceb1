import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createFailedSecrets } from '../../src/ingest/failed-secrets.ts';
import type { FailedSecrets } from '../../src/ingest/failed-secrets.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Counts some failures one after another: what each was answered. */
async function count(failed: FailedSecrets, address: string, times: number) {
  const answers: (number | undefined)[] = [];
  for (let n = 0; n < times; n += 1) answers.push(await failed.count(address));
  return answers;
}

it('lets an address fail 20 times in a minute, then says how long to wait', async () => {
  const failed = createFailedSecrets();
  expect(await count(failed, '192.0.2.1', 20)).toEqual(Array(20).fill(undefined));
  expect(await count(failed, '192.0.2.1', 2)).toEqual([60, 60]);
  await vi.advanceTimersByTimeAsync(45_000);
  expect(await failed.count('192.0.2.1')).toBe(15);
});

it('begins anew a minute after the first failure, also for who never stopped', async () => {
  const failed = createFailedSecrets();
  await count(failed, '192.0.2.1', 25);
  await vi.advanceTimersByTimeAsync(60_001);
  expect(await count(failed, '192.0.2.1', 20)).toEqual(Array(20).fill(undefined));
  expect(await failed.count('192.0.2.1')).toBe(60);
});

it('counts a network of IPv6 as one address, and an IPv4 address as itself however it is written', async () => {
  const failed = createFailedSecrets();
  for (let n = 0; n < 20; n += 1) await failed.count(`2001:db8:0:1::${n.toString(16)}`);
  expect(await failed.count('2001:db8:0:1:ffff::1')).toBe(60);
  expect(await failed.count('2001:db8:0:2::1')).toBeUndefined();
  await count(failed, '::ffff:192.0.2.1', 20);
  expect(await failed.count('192.0.2.1')).toBe(60);
});

it('counts everything that is no address as one: a proxy may pass on what a sender makes up', async () => {
  const failed = createFailedSecrets();
  for (let n = 0; n < 20; n += 1) await failed.count(`made up ${n}`);
  expect(await failed.count('another')).toBe(60);
});

it('keeps a bounded number of counters, whatever addresses come', async () => {
  const failed = createFailedSecrets();
  for (let n = 0; n < 20_000; n += 1)
    await failed.count(`2001:db8:${(n >> 8).toString(16)}:${(n % 256).toString(16)}::1`);
  expect(vi.getTimerCount()).toBeLessThanOrEqual(16_384);
  // 11,550 are expected, with a standard deviation of 42: fewer than this never occur by chance.
  expect(vi.getTimerCount()).toBeGreaterThan(11_000);
});

it('forgets addresses that have stopped', async () => {
  const failed = createFailedSecrets();
  for (let n = 0; n < 1_000; n += 1) await failed.count(`2001:db8:0:${n}::1`);
  // Some of them share a counter: 970 are expected, with a standard deviation of 5.
  expect(vi.getTimerCount()).toBeGreaterThan(900);
  await vi.advanceTimersByTimeAsync(60_001);
  // The files of a worker share their modules, one of which may have a timer of its own.
  expect(vi.getTimerCount()).toBeLessThan(5);
});
