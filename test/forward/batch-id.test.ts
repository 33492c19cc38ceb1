import { expect, it } from 'vitest';
import { batchId } from '../../src/forward/sender.ts';
import { messages } from './senders/messages.ts';

const withRowIds = (from: number) =>
  messages(3).map((message, index) => ({
    ...message,
    event: { ...message.event, id: String(from + index) },
  }));

it('a batch has the same id wherever its rows are: after a move their numbers are others', () => {
  expect(batchId(withRowIds(100))).toBe(batchId(withRowIds(7)));
});

it('other events, or another order, have another id', () => {
  const [first, second, third] = messages(3);
  if (first === undefined || second === undefined || third === undefined) throw new Error('no messages');
  const ids = [[first, second], [second, first], [first, third], [first]].map(batchId);
  expect(new Set(ids).size).toBe(ids.length);
});
