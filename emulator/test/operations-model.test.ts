import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createOperations, OPERATION_TIMES } from '../http/operations.ts';
import type { Operations } from '../http/operations.ts';
import { manualClock } from './harness.ts';

it('moves only along the table, whatever is asked of it and when', async () => {
  const deed = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 4000 }) }),
    fc.record({ kind: fc.constantFrom('cancel' as const, 'remove' as const), ms: fc.constant(0) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(deed, { maxLength: 12 }), async (cancelable, deeds) => {
      const clock = manualClock();
      const operations = createOperations(clock, OPERATION_TIMES);
      const work = { cancelable, hasProgress: true, steps: ['one', 'two'], run: () => 'done' };
      const id = operations.start(work);
      for (const { kind, ms } of deeds) {
        const before = stateIn(operations, id);
        const outcome = kind === 'wait' ? await clock.advance(ms) : outcomeOf(() => operations[kind](id));
        expect(ALLOWED[kind]).toContain(`${before} ${outcome ?? 'done'} ${stateIn(operations, id)}`);
      }
    }),
    { numRuns: 60 },
  );
});

/** What may follow from what: the state before, how the deed was taken, the state after. */
const ALLOWED = {
  wait: [
    'PENDING done PENDING',
    'PENDING done RUNNING',
    'PENDING done SUCCEEDED',
    'RUNNING done RUNNING',
    'RUNNING done SUCCEEDED',
    'CANCELING done CANCELING',
    'CANCELING done CANCELED',
    'SUCCEEDED done SUCCEEDED',
    'CANCELED done CANCELED',
    'gone done gone',
  ],
  cancel: [
    'PENDING done CANCELED',
    'RUNNING done CANCELING',
    'RUNNING UNIMPLEMENTED RUNNING',
    'CANCELING done CANCELING',
    'SUCCEEDED FAILED_PRECONDITION SUCCEEDED',
    'CANCELED FAILED_PRECONDITION CANCELED',
    'gone NOT_FOUND gone',
  ],
  remove: [
    'PENDING done gone',
    'RUNNING FAILED_PRECONDITION RUNNING',
    'CANCELING FAILED_PRECONDITION CANCELING',
    'SUCCEEDED done gone',
    'CANCELED done gone',
    'gone NOT_FOUND gone',
  ],
};

/** The error code of a deed that was refused, undefined where it was done. */
function outcomeOf(deed: () => void): string | undefined {
  try {
    deed();
    return undefined;
  } catch (error) {
    return z.object({ code: z.string() }).parse(error).code;
  }
}

/** The status, with `done` checked against it; `gone` where there is no record. */
function stateIn(operations: Operations, id: string): string {
  const code = outcomeOf(() => operations.get(id));
  if (code !== undefined) return code === 'NOT_FOUND' ? 'gone' : code;
  const { done, metadata } = operations.get(id);
  const isFinal = ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(metadata.status);
  return done === isFinal ? metadata.status : `${metadata.status} with done ${done}`;
}
