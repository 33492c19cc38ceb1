import { expect, test } from 'vitest';
import { repeat } from '../../src/serve/repeat.ts';
import { waitFor } from '../support/wait-for.ts';

test('work is done again at once while there is more, and after an error', async () => {
  const errors: unknown[] = [];
  let rounds = 0;
  const repetition = repeat(
    1,
    async () => {
      rounds += 1;
      if (rounds === 3) throw new Error('away');
      return rounds < 3 ? 'more' : 'done';
    },
    (error) => errors.push(error),
  );
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
  const repetition = repeat(1, work, () => undefined);
  let stopped = false;
  const stopping = repetition.stop().then(() => (stopped = true));
  expect(stopped).toBe(false);
  resolve('more');
  await stopping;
  expect(rounds).toBe(1);
});
