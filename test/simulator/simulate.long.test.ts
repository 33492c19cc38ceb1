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

it('finds nothing wrong where an operator moved a cursor back just before a failover', async () => {
  const thread = new SimulatingThread();
  onTestFinished(() => thread.end());
  expect((await thread.simulate(drawHistory(15_735_019, 2_000))).failures).toEqual([]);
});

it('finds nothing wrong where many deliveries come at once', async () => {
  const thread = new SimulatingThread();
  onTestFinished(() => thread.end());
  expect((await thread.simulate(drawHistory(3_001, 10_000))).failures).toEqual([]);
});

it('finds a planted fault', async () => {
  const thread = new SimulatingThread({ plant: 'answered-before-durable' });
  onTestFinished(() => thread.end());
  const { failures } = await thread.simulate(drawHistory(3, 200));
  expect(failures.join('\n')).toContain('is nowhere');
});
