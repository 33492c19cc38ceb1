import { expect, it } from 'vitest';
import { BudgetSpentError, createCallBudget } from '../../src/reconcile/call-budget.ts';

it('75 calls may be made at once, the first half of them also for what is not needed, and 300 more in an hour', async () => {
  let now = 0;
  const clock = { now: () => now, sleep: async () => undefined };
  const budget = createCallBudget(clock, async () => new Response());
  /** Calls until none is left: so many, and so many of them with an ample budget. */
  const spend = async () => {
    let [calls, ample] = [0, 0];
    for (; ; calls += 1) {
      if (budget.isAmple()) ample += 1;
      try {
        budget.check();
      } catch (error) {
        if (!(error instanceof BudgetSpentError)) throw error;
        return { calls, ample };
      }
      await budget.fetch('https://cloud.test');
    }
  };
  expect(await spend()).toEqual({ calls: 75, ample: 38 });
  now += 12 * 60_000;
  expect(await spend()).toEqual({ calls: 60, ample: 23 });
  now += 10 * 3_600_000;
  expect(await spend()).toEqual({ calls: 75, ample: 38 });
});
