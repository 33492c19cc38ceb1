import { describe, expect, test } from 'vitest';
import { createPacer, readRateLimit } from '../../src/cloud/request.ts';
import { createFakeClock } from './fake-clock.ts';

test.each([
  [{ ratelimit: '"default";r=42' }, { remaining: 42, resetMs: undefined }],
  [{ ratelimit: '"default"; r=42; t=30' }, { remaining: 42, resetMs: 30_000 }],
  [{ ratelimit: '"default";r=42, "burst";r=3;t=1' }, { remaining: 3, resetMs: 1000 }],
  [
    { 'ratelimit-limit': '7500;w=3600', 'ratelimit-remaining': '12', 'ratelimit-reset': '60' },
    { remaining: 12, resetMs: 60_000 },
  ],
  [{ 'ratelimit-remaining': '12' }, { remaining: 12, resetMs: undefined }],
  [{ ratelimit: 'nonsense' }, undefined],
  [{}, undefined],
])('reading the rate limit %j', (headers, limit) => {
  expect(readRateLimit(new Headers(Object.entries(headers)))).toEqual(limit);
});

/** How long the turns wait that are taken after an answer with these headers. */
async function sleepsAfter(headers: object, turns: number): Promise<number[]> {
  const clock = createFakeClock();
  const pacer = createPacer(clock);
  await pacer.turn(undefined);
  pacer.observe(new Headers(Object.entries(headers)));
  for (let turn = 0; turn < turns; turn++) await pacer.turn(undefined);
  return clock.sleeps;
}

describe('pacing', () => {
  test.each([
    ['freely while many are left', { ratelimit: '"default";r=5000' }, 5, []],
    [
      'spread over the time until the quota renews',
      { 'ratelimit-remaining': '9', 'ratelimit-reset': '20' },
      3,
      [2000, 2000, 2000],
    ],
    ['after ten seconds at most', { 'ratelimit-remaining': '0', 'ratelimit-reset': '3600' }, 1, [10_000]],
  ])('calls go %s', async (_how, headers, turns, sleeps) => {
    expect(await sleepsAfter(headers, turns)).toEqual(sleeps);
  });

  test('without a known renewal calls slow down the more, the fewer are left', async () => {
    const [some = 0] = await sleepsAfter({ ratelimit: '"default";r=40' }, 1);
    const [few = 0] = await sleepsAfter({ ratelimit: '"default";r=5' }, 1);
    expect(some).toBeGreaterThan(0);
    expect(few).toBeGreaterThan(some);
  });

  test('a call that comes later than its turn does not wait', async () => {
    const clock = createFakeClock();
    const pacer = createPacer(clock);
    pacer.observe(new Headers({ 'ratelimit-remaining': '9', 'ratelimit-reset': '20' }));
    await pacer.turn(undefined);
    clock.advance(1_500);
    await pacer.turn(undefined);
    clock.advance(5_000);
    await pacer.turn(undefined);
    expect(clock.sleeps).toEqual([500]);
  });

  test('calls go freely again once the quota is renewed', async () => {
    const clock = createFakeClock();
    const pacer = createPacer(clock);
    pacer.observe(new Headers({ ratelimit: '"default";r=0' }));
    pacer.observe(new Headers({ ratelimit: '"default";r=7499' }));
    await pacer.turn(undefined);
    await pacer.turn(undefined);
    expect(clock.sleeps).toEqual([]);
  });
});
