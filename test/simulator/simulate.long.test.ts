import { expect, it, onTestFinished } from 'vitest';
import { drawHistory } from './simulate.ts';
import { SimulatingThread } from './threads.ts';

it('does the same for the same seed, and finds nothing wrong', async () => {
  const thread = new SimulatingThread();
  onTestFinished(() => thread.end());
  const history = drawHistory(2, 200);
  const first = await thread.simulate(history);
  expect(first.failures).toEqual([]);
  expect(await thread.simulate(history)).toEqual(first);
});

it('finds a planted fault', async () => {
  const thread = new SimulatingThread('answered-before-durable');
  onTestFinished(() => thread.end());
  const { failures } = await thread.simulate(drawHistory(7, 150));
  expect(failures.join('\n')).toContain('is nowhere');
});
