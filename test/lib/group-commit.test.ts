import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupCommit, type GroupBounds } from '../../src/lib/group-commit.ts';

/** A turn of the event loop, and all that it sets off. */
const turn = async () => {
  for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
};

interface Item {
  readonly id: number;
  readonly bytes: number;
}

/** A commit that has begun, for the test to end. */
interface Begun {
  readonly items: readonly Item[];
  readonly succeed: () => void;
  readonly fail: (error: Error) => void;
}

/** Group commit over a store that the test controls: what was begun, and what became of each item. */
function controlled(bounds: GroupBounds, { atOnce = 1, spacingMs = 0 } = {}) {
  const begun: Begun[] = [];
  const outcomes = new Map<number, 'stored' | Error>();
  let inFlight = 0;
  const group = new GroupCommit(
    (items: readonly Item[]) => {
      inFlight += 1;
      expect(inFlight).toBeLessThanOrEqual(atOnce);
      return new Promise<void>((resolve, reject) => {
        const end = (settle: () => void) => () => {
          inFlight -= 1;
          settle();
        };
        begun.push({ items, succeed: end(resolve), fail: (error) => end(() => reject(error))() });
      });
    },
    bounds,
    { atOnce, spacingMs },
  );
  const add = (item: Item) =>
    void group.add(item, item.bytes).then(
      () => outcomes.set(item.id, 'stored'),
      (error: Error) => outcomes.set(item.id, error),
    );
  return { group, begun, outcomes, add };
}

type Step = { readonly add: number } | 'succeed' | 'fail' | 'turn';

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ add: fc.integer({ min: 0, max: 12 }) }) },
  { weight: 2, arbitrary: fc.constantFrom<Step>('succeed', 'fail') },
  { weight: 2, arbitrary: fc.constant<Step>('turn') },
);

describe('group commit', () => {
  it('agrees with its model: nothing lost, order kept, bounds respected, no more in flight than may be, errors to their members', async () => {
    const bounds = fc.record({
      maxItems: fc.integer({ min: 1, max: 5 }),
      maxBytes: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(
        bounds,
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 60 }),
        async (limits, atOnce, steps) => {
          const { group, begun, outcomes, add } = controlled(limits, { atOnce });
          const added: Item[] = [];
          let ended = 0;
          const expected = new Map<number, 'stored' | Error>();
          /** Ends the first commit in flight, if there is one. */
          const end = (how: 'succeed' | 'fail') => {
            const commit = begun[ended];
            if (commit === undefined) return;
            const error = new Error(`commit ${ended}`);
            for (const { id } of commit.items) expected.set(id, how === 'succeed' ? 'stored' : error);
            if (how === 'succeed') commit.succeed();
            else commit.fail(error);
            ended += 1;
          };
          for (const what of steps) {
            if (typeof what === 'object') {
              const item = { id: added.length, bytes: what.add };
              added.push(item);
              add(item);
            } else if (what === 'turn') await turn();
            else {
              end(what);
              await turn();
            }
            expect(begun.length - ended).toBeLessThanOrEqual(atOnce);
            expect(outcomes.size).toBeLessThanOrEqual(expected.size);
          }
          for (await turn(); ended < begun.length; await turn()) end('succeed');
          await group.idle();

          expect(begun.flatMap(({ items }) => items)).toEqual(added);
          expect(outcomes).toEqual(expected);
          for (const { items } of begun) {
            expect(items.length).toBeGreaterThan(0);
            expect(items.length).toBeLessThanOrEqual(limits.maxItems);
            const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
            expect(items.length === 1 || bytes <= limits.maxBytes).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('takes all that gathered during a commit into the next, as far as the bounds allow', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }),
        async (sizes) => {
          const { begun, add } = controlled({ maxItems: 4, maxBytes: 10 });
          for (const [id, bytes] of sizes.entries()) add({ id, bytes });
          await turn();
          for (let taken = 0, n = 0; taken < sizes.length; n += 1, await turn()) {
            let bytes = 0;
            let fitting = 0;
            for (const size of sizes.slice(taken, taken + 4)) {
              if (fitting > 0 && bytes + size > 10) break;
              bytes += size;
              fitting += 1;
            }
            expect(begun[n]?.items).toHaveLength(fitting);
            taken += fitting;
            begun[n]?.succeed();
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('lets a spaced commit begin only some time after the last one, or with a whole group', async () => {
    const spacingMs = 200;
    const { begun, add } = controlled({ maxItems: 3, maxBytes: 100 }, { spacingMs });
    const began = performance.now();
    add({ id: 0, bytes: 1 });
    await turn();
    expect(begun).toHaveLength(1);
    begun[0]?.succeed();

    add({ id: 1, bytes: 1 });
    await expect.poll(() => begun.length).toBe(2);
    expect(performance.now() - began).toBeGreaterThanOrEqual(spacingMs - 1);
    begun[1]?.succeed();

    for (let id = 2; id < 5; id += 1) add({ id, bytes: 1 });
    await turn();
    expect(begun.map(({ items }) => items.map(({ id }) => id))).toEqual([[0], [1], [2, 3, 4]]);
  });

  it('takes a commit that throws for one that failed', async () => {
    const error = new Error('thrown, not rejected');
    let calls = 0;
    const group = new GroupCommit(
      (items: readonly string[]) => {
        calls += 1;
        if (items.includes('bad')) throw error;
        return Promise.resolve();
      },
      { maxItems: 1, maxBytes: 1 },
    );
    const results = await Promise.allSettled([group.add('bad', 1), group.add('good', 1)]);
    expect(results).toEqual([
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: undefined },
    ]);
    expect(calls).toBe(2);
  });

  it('is idle at once without work, and else once the last commit has ended, well or not', async () => {
    const { group, begun, add } = controlled({ maxItems: 1, maxBytes: 1 });
    await group.idle();
    add({ id: 0, bytes: 1 });
    add({ id: 1, bytes: 1 });
    let idle = false;
    const waiting = group.idle().finally(() => {
      idle = true;
    });
    await turn();
    begun[0]?.succeed();
    await turn();
    expect(idle).toBe(false);
    begun[1]?.fail(new Error('late'));
    await waiting;
    expect(idle).toBe(true);
  });
});
