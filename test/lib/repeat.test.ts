import { expect, test } from 'vitest';
import { repeat } from '../../src/lib/repeat.ts';
import { waitFor } from '../support/wait-for.ts';

const noError = (error: unknown) => expect.fail(`unexpected: ${String(error)}`);

test('work is done again at once while there is more, and after an error', async () => {
  const errors: unknown[] = [];
  let rounds = 0;
  const repetition = repeat({
    pauseMs: 1,
    async work() {
      rounds += 1;
      if (rounds === 3) throw new Error('away');
      return rounds < 3 ? 'more' : 'done';
    },
    onError: (error) => errors.push(error),
  });
  await waitFor(() => rounds > 4);
  await repetition.stop();
  expect(errors).toEqual([new Error('away')]);
});

test('a stop waits for the round that is under way, and no other begins', async () => {
  const { promise, resolve } = Promise.withResolvers<'more'>();
  let rounds = 0;
  const work = () => {
    rounds += 1;
    return promise;
  };
  const repetition = repeat({ pauseMs: 1, work, onError: noError });
  let stopped = false;
  const stopping = repetition.stop().then(() => (stopped = true));
  expect(stopped).toBe(false);
  resolve('more');
  await stopping;
  expect(rounds).toBe(1);
});

test('a stop aborts the round that is under way, whose failure is no error', async () => {
  const stopping = new AbortController();
  const { promise, reject } = Promise.withResolvers<void>();
  stopping.signal.addEventListener('abort', () => reject(new Error('aborted')));
  await repeat({ pauseMs: 1, work: () => promise, onError: noError, stopping }).stop();
  expect(stopping.signal.aborted).toBe(true);
});

test('work begins after the delay, and ends when it is over', async () => {
  const sleeps: number[] = [];
  const clock = {
    now: Date.now,
    sleep: async (ms: number) => void sleeps.push(ms),
  };
  const results = ['more', 'done', 'over'] as const;
  let rounds = 0;
  const { promise: last, resolve: end } = Promise.withResolvers<void>();
  const work = async () => {
    if (rounds === results.length - 1) end();
    return results[rounds++];
  };
  const repetition = repeat({ pauseMs: 7, delayMs: 5, work, onError: noError, clock });
  await last;
  await repetition.stop();
  expect(rounds).toBe(3);
  expect(sleeps).toEqual([5, 7]);
});
