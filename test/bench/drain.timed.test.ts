import { expect, test } from 'vitest';
import { drain } from '../../bench/drain.ts';

const never = new AbortController().signal;

/** A table that grows from one count to the next, and then no more. */
function growing(...counts: number[]): () => Promise<number> {
  let last = 0;
  return async () => (last = counts.shift() ?? last);
}

test('it waits for the rows that are expected', async () => {
  await expect(drain(growing(3, 5), 5, Infinity, never)).resolves.toMatchObject({ rows: 5, cutShort: false });
});

test('a row too many is seen', async () => {
  await expect(drain(growing(5, 6), 5, Infinity, never)).resolves.toMatchObject({ rows: 6, cutShort: false });
});

test('it says when rows still came at the end of the time', async () => {
  const endless = () => Promise.resolve(performance.now());
  await expect(drain(endless, Infinity, 0.1, never)).resolves.toMatchObject({ cutShort: true });
});

test('it ends at once when the benchmark is stopped', async () => {
  const stopped = AbortSignal.abort();
  await expect(drain(growing(1), 5, Infinity, stopped)).rejects.toThrow('aborted');
});
