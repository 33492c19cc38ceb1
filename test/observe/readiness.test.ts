import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createReadiness } from '../../src/observe/readiness.ts';

it('runs each check once for all simultaneous requests, and again for later ones', async () => {
  const { promise, resolve } = Promise.withResolvers<'ok'>();
  let runs = 0;
  const ask = () => {
    runs += 1;
    return promise;
  };
  const readiness = createReadiness({ queue: { ask, isNeeded: true } }, pino({ level: 'silent' }));
  const answers = Array.from({ length: 20 }, () => readiness.ask());
  resolve('ok');
  for (const answer of await Promise.all(answers)) {
    expect(answer).toEqual({ status: 'ok', checks: { queue: 'ok' } });
  }
  expect(runs).toBe(1);
  await readiness.ask();
  expect(runs).toBe(2);
});
