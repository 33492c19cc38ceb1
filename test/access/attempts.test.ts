import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createAttempts } from '../../src/access/attempts.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const unknown = { name: 'ada', isKnown: false };
const networks = (count: number) => Array.from({ length: count }, (_, n) => `192.0.2.${n}`);

it('an account can be tried 60 times in a minute from everywhere, whatever the case of its name; others go on', async () => {
  const begin = createAttempts();
  for (const address of networks(59)) await begin({ ...unknown, address });
  await begin({ name: 'ADA', isKnown: false, address: '198.51.100.1' });
  const next = { ...unknown, address: '198.51.100.2' };
  await expect(begin(next)).rejects.toMatchObject({ status: 429, retryAfter: 60 });
  await begin({ ...next, name: 'grace' });
  // Who has logged in before is counted by itself.
  await begin({ ...next, isKnown: true });
  await vi.advanceTimersByTimeAsync(60_001);
  await begin(next);
});

it('what a network is refused does not count for the account, and a right password is taken back from both', async () => {
  const begin = createAttempts();
  const address = '192.0.2.200';
  for (let n = 0; n < 30; n += 1) await (await begin({ ...unknown, address }))();
  for (let n = 0; n < 20; n += 1) await begin({ ...unknown, address });
  for (let n = 0; n < 50; n += 1) await expect(begin({ ...unknown, address })).rejects.toThrow('too many');
  for (const one of networks(40)) await begin({ ...unknown, address: one });
  await expect(begin({ ...unknown, address: '198.51.100.1' })).rejects.toThrow('too many');
});
