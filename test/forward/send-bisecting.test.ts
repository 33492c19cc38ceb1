import { array, assert, asyncProperty, boolean } from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_REQUESTS, sendBisecting } from '../../src/forward/send-batch.ts';
import { BatchRefusedError, type Message, type Sender } from '../../src/forward/sender.ts';
import { messages } from './senders/messages.ts';

/** A destination that refuses batches with any of some messages, what it accepted, and how many requests it got. */
function destination(poison: ReadonlySet<Message>) {
  const accepted: Message[] = [];
  let requests = 0;
  const sender: Sender = {
    async send(batch) {
      requests += 1;
      if (batch.some((message) => poison.has(message))) throw new BatchRefusedError('400');
      accepted.push(...batch);
      return [];
    },
    close: async () => undefined,
  };
  return { sender, accepted, requests: () => requests };
}

test('each message is accepted once, in order, or rejected, in as many batches as that takes', async () => {
  await assert(
    asyncProperty(array(boolean(), { maxLength: 300 }), async (isPoison) => {
      const all = messages(isPoison.length);
      const poison = new Set(all.filter((_, index) => isPoison[index]));
      const { sender, accepted } = destination(poison);
      const rejected: Message[] = [];
      let rest = all;
      while (rest.length > 0) {
        const sent = await sendBisecting(sender, rest);
        expect(sent.settled).toBeGreaterThan(0);
        rejected.push(...sent.rejected.map(({ message }) => message));
        rest = rest.slice(sent.settled);
      }
      expect(rejected).toEqual([...poison]);
      expect(accepted).toEqual(all.filter((message) => !poison.has(message)));
    }),
  );
});

test.each([500, 5_000])('a destination that refuses a batch of %i costs a hundred requests', async (size) => {
  const all = messages(size);
  const { sender, requests } = destination(new Set(all));
  const { settled, rejected } = await sendBisecting(sender, all);
  expect(requests()).toBe(MAX_REQUESTS);
  expect(settled).toBeGreaterThan(40);
  expect(rejected.map(({ message }) => message)).toEqual(all.slice(0, settled));
});

test('one rejected message in a batch of 500 costs 19 requests or less', async () => {
  const all = messages(500);
  for (const index of [0, 1, 250, 499]) {
    const { sender, requests } = destination(new Set(all.slice(index, index + 1)));
    expect(await sendBisecting(sender, all)).toMatchObject({ settled: 500, rejected: [{ reason: '400' }] });
    expect(requests()).toBeLessThanOrEqual(19);
  }
});
