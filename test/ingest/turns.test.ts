import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Turns } from '../../src/ingest/normalize-sent.ts';

/** Turns on a clock and an event loop of the test's own. */
function turnsOfTheTest() {
  let now = 0;
  const deferred: (() => void)[] = [];
  const turns = new Turns(
    () => now,
    // One turn of the event loop is asked for at a time.
    (run) => expect(deferred.push(run)).toBe(1),
  );
  const order: string[] = [];
  const submit = <T>(source: string, ms: number, work: () => T) =>
    turns.run(source, () => {
      now += ms;
      order.push(source);
      return work();
    });
  return { submit, turn: () => deferred.shift()?.(), isIdle: () => deferred.length === 0, order };
}

const nothing = () => undefined;

it('runs the work of a source after one of each other, whatever waits for them', () => {
  const { submit, turn, order } = turnsOfTheTest();
  void submit('noisy', 1, nothing);
  void submit('noisy', 1, nothing);
  expect(order).toEqual(['noisy', 'noisy']);
  for (let n = 0; n < 50; n += 1) void submit('noisy', 6, nothing);
  const before = order.length;
  void submit('quiet', 1, nothing);
  turn();
  turn();
  expect(order.slice(before, before + 2)).toEqual(['noisy', 'quiet']);
});

it('runs all work once, in the order of each source, and passes results and errors on', async () => {
  const item = fc.record({ source: fc.constantFrom('a', 'b', 'c'), ms: fc.nat(9), turns: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 60 }), async (items) => {
      const { submit, turn, isIdle } = turnsOfTheTest();
      const done: number[] = [];
      const results = items.map(({ source, ms, turns }, index) => {
        const result = submit(source, ms, () => {
          done.push(index);
          if (ms === 9) throw new Error(`${index} failed`);
          return index;
        });
        for (let n = 0; n < turns; n += 1) turn();
        return result.catch((error: unknown) => (error instanceof Error ? error.message : error));
      });
      while (!isIdle()) turn();
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
