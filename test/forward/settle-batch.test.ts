import { array, assert, boolean, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_REJECTED_IN_ROW, settleBatch } from '../../src/forward/send-batch.ts';
import { messages } from './senders/messages.ts';

test('however events are divided into batches, none is lost, and ten in a row at the end of a batch are a refusal', () => {
  assert(
    property(
      array(boolean(), { maxLength: 60 }),
      array(integer({ min: 1, max: 20 })),
      (isAccepted, sizes) => {
        const all = messages(isAccepted.length).map((message, position) => ({
          ...message,
          event: { ...message.event, position },
        }));
        let [inRow, at, settled] = [0, 0, 0];
        for (const size of [...sizes, ...Array<number>(60).fill(7)]) {
          const batch = all.slice(at, at + size);
          const end = at + batch.length;
          const rejected = batch
            .filter((_, index) => isAccepted[at + index] === false)
            .map((message) => ({ message, reason: `no ${message.event.id}` }));
          const start = at;
          const { progress, refusal } = settleBatch(
            { start, position: end, messages: batch },
            { settled: batch.length, rejected },
            inRow,
          );
          at += batch.length;
          const lastAccepted = isAccepted.slice(0, at).lastIndexOf(true);
          const isRefusing = batch.length > 0 && at - 1 - lastAccepted >= MAX_REJECTED_IN_ROW;
          expect(refusal).toBe(isRefusing ? rejected.at(-1)?.reason : undefined);
          settled += progress.sent + progress.rejected.length;
          // Everything up to the cursor was accepted or set aside, and nothing after it.
          expect(progress.position).toBe(batch.length === 0 ? end : settled);
          expect(isRefusing || settled === at).toBe(true);
          if (progress.sent > 0) inRow = 0;
          inRow += progress.rejectedInRow;
          if (isRefusing) return;
          expect(inRow).toBe(at - 1 - lastAccepted);
        }
      },
    ),
  );
});

test('what was not sent stays behind the cursor', () => {
  const all = messages(20).map((message, position) => ({
    ...message,
    event: { ...message.event, position },
  }));
  const rejected = all.slice(2, 4).map((message) => ({ message, reason: 'no' }));
  const batch = { start: 0, position: 25, messages: all };
  const { progress, refusal } = settleBatch(batch, { settled: 4, rejected }, 0);
  expect(progress).toMatchObject({ position: 4, sent: 2, rejectedInRow: 2 });
  expect(refusal).toBeUndefined();
});
