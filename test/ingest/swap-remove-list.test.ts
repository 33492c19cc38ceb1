import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { SwapRemoveList } from '../../src/ingest/connections.ts';

it('contains what was added and not removed, whatever the order', () => {
  const steps = fc.array(fc.oneof(fc.constant('add' as const), fc.nat()), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (list) => {
      const bag = new SwapRemoveList<number>();
      const removals: { readonly item: number; readonly remove: () => void }[] = [];
      for (const [number, step] of list.entries()) {
        if (step === 'add') removals.push({ item: number, remove: bag.add(number) });
        else removals.splice(step % Math.max(1, removals.length), 1)[0]?.remove();
        expect(bag.size).toBe(removals.length);
        expect([...bag].toSorted((a, b) => a - b)).toEqual(
          removals.map(({ item }) => item).toSorted((a, b) => a - b),
        );
      }
    }),
  );
});
