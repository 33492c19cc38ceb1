import { expect, test } from 'vitest';
import { fail, ok, runChecks, warn, type Check } from '../../../src/commands/doctor/check.ts';

const findingsOf = async (...checks: Check[]) =>
  Object.fromEntries(
    await Promise.all(runChecks(checks).map(async ({ name, finding }) => [name, await finding] as const)),
  );

const never = () => new Promise<never>(() => undefined);

test('a check that hangs is told of after its time, and told to stop', async () => {
  let isOver = false;
  const hang = (signal: AbortSignal) => {
    signal.addEventListener('abort', () => (isOver = true));
    return never();
  };
  const found = await findingsOf(
    { name: 'hung', limitMs: 50, remedy: 'kick it', run: hang },
    { name: 'large', limitMs: 50, whenLate: warn('takes long', 'wait'), run: never },
  );
  expect(found).toEqual({
    hung: fail('no answer within 0.05 s', 'kick it'),
    large: warn('takes long', 'wait'),
  });
  expect(isOver).toBe(true);
});

test('what an abort makes a check throw is not told instead of the time', async () => {
  const run = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  expect(await findingsOf({ name: 'slow', limitMs: 20, run })).toMatchObject({
    slow: { message: 'no answer within 0.02 s' },
  });
});

test('what needs a failed, a skipped or an absent one is skipped, and nothing else is', async () => {
  const run = async () => ok('fine');
  const found = await findingsOf(
    { name: 'a', run: () => Promise.reject(new Error('broken')) },
    { name: 'b', needs: ['a'], run },
    { name: 'c', needs: ['b'], run },
    { name: 'd', run },
    { name: 'e', run: async () => ({ ...warn('not there', 'make it'), stops: true }) },
    { name: 'f', needs: ['d', 'e'], run },
    { name: 'g', run: async () => warn('so so', 'look') },
    { name: 'h', needs: ['d', 'g'], run },
    { name: 'i', run: async () => ({ ...fail('wrong, but there', 'mend it'), stops: false }) },
    { name: 'j', needs: ['i'], run },
  );
  const statuses = Object.entries(found).map(([name, { status }]) => `${name} ${status}`);
  expect(statuses).toEqual([
    'a fail',
    'b skipped',
    'c skipped',
    'd ok',
    'e warn',
    'f skipped',
    'g warn',
    'h ok',
    'i fail',
    'j ok',
  ]);
  expect(found['a']?.message).toBe('broken');
  expect(found['f']?.message).toBe('needs e');
});

test('checks run side by side', async () => {
  const { promise: met, resolve } = Promise.withResolvers<void>();
  const found = await findingsOf(
    { name: 'waits', limitMs: 1_000, run: () => met.then(() => ok('met')) },
    { name: 'comes', run: async () => (resolve(), ok('came')) },
  );
  expect(found).toMatchObject({ waits: { status: 'ok' }, comes: { status: 'ok' } });
});
