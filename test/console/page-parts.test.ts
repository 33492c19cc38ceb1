import { expect, test } from 'vitest';
import { loadParts } from '../../src/console/page-parts.ts';
import { HttpError } from '../../src/lib/errors.ts';

test('a part that fails, and one that never answers, leave the others, and say why', async () => {
  const { read, problems } = loadParts(20);
  const parts = await Promise.all([
    read('queue', async () => 5),
    read('database', async () => {
      throw new Error('connect ECONNREFUSED');
    }),
    read('storage', () => new Promise<number>(() => undefined)),
  ]);
  expect(parts).toEqual([5, null, null]);
  expect(problems).toEqual([
    { part: 'database', why: 'connect ECONNREFUSED' },
    { part: 'storage', why: 'no answer within 0.02 s' },
  ]);
});

test('what a person asked for wrongly is told to the person', async () => {
  const refused = new HttpError(400, 'BAD_REQUEST', 'until has to be later');
  await expect(loadParts().read('chart', () => Promise.reject(refused))).rejects.toBe(refused);
});
