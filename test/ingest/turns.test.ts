import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Turns } from '../../src/ingest/normalize-sent.ts';

/** Turns on a clock and an event loop of the test's own. */
function turnsOfTheTest() {
  let now = 0;
  let next: (() => void) | undefined;
  const order: string[] = [];
  const turns = new Turns(
    () => now,
    (run) => (next = run),
  );
  const submit = (source: string, ms: number) =>
    turns.run(source, () => {
      now += ms;
      order.push(source);
    });
  const turn = () => {
    const run = next;
    next = undefined;
    run?.();
    return run !== undefined;
  };
  return { submit, turn, order };
}

it('runs work at once while the event loop is free', () => {
  const { submit, order } = turnsOfTheTest();
  void submit('a', 1);
  void submit('a', 1);
  expect(order).toEqual(['a', 'a']);
});

it('runs the work of a source after one of each other, whatever waits for them', () => {
  const { submit, turn, order } = turnsOfTheTest();
  for (let n = 0; n < 50; n += 1) void submit('noisy', 6);
  void submit('quiet', 1);
  turn();
  turn();
  expect(order.slice(0, 3)).toEqual(['noisy', 'noisy', 'quiet']);
});

it('runs all work once, in the order of each source, and passes results and errors on', async () => {
  const item = fc.record({ source: fc.constantFrom('a', 'b', 'c'), ms: fc.nat(9), turns: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 60 }), async (items) => {
      let now = 0;
      const deferred: (() => void)[] = [];
      const turns = new Turns(
        () => now,
        (next) => deferred.push(next),
      );
      const done: number[] = [];
      const results = items.map(({ source, ms, turns: rounds }, index) => {
        const result = turns.run(source, () => {
          now += ms;
          done.push(index);
          if (ms === 9) throw new Error(`${index} failed`);
          return index;
        });
        for (let n = 0; n < rounds; n += 1) deferred.shift()?.();
        return result.catch((error: unknown) => (error instanceof Error ? error.message : error));
      });
      while (deferred.length > 0) deferred.shift()?.();
      expect(await Promise.all(results)).toEqual(
        items.map(({ ms }, index) => (ms === 9 ? `${index} failed` : index)),
      );
      for (const source of ['a', 'b', 'c']) {
        const own = done.filter((index) => items[index]?.source === source);
        expect(own).toEqual(own.toSorted((x, y) => x - y));
      }
    }),
  );
});
