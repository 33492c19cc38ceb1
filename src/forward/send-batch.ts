import { describeError } from '../lib/errors.ts';
import { BatchRefusedError, type Message, type Sender } from './sender.ts';
import type { Progress } from '../store/destinations/destinations.ts';
import type { LoggedMessage } from './batch-events.ts';

/**
 * The most requests for one batch. They find each of forty rejected messages in a row, and reach the first one in a batch
 * of any size. A destination that refuses everything costs no more than these.
 */
export const MAX_REQUESTS = 100;

/**
 * Sends a batch. If the destination refuses it as a whole, the batch is halved until the message that causes the refusal
 * is alone; the others are sent, as far as `MAX_REQUESTS` suffice. Throws the sender's other errors. Resolves with how many of
 * the first messages are settled, accepted or rejected, and with those that the destination will never accept, in order.
 */
export async function sendBisecting(sender: Sender, batch: readonly Message[]) {
  const rejected: { readonly message: Message; readonly reason: string }[] = [];
  const parts = batch.length === 0 ? [] : [batch];
  let settled = 0;
  for (let requests = 0; requests < MAX_REQUESTS; requests += 1) {
    const part = parts.pop();
    if (part === undefined) break;
    try {
      for (const { index, reason } of await sender.send(part)) {
        const message = part[index];
        if (message !== undefined) rejected.push({ message, reason });
      }
    } catch (error) {
      if (!(error instanceof BatchRefusedError)) throw error;
      if (part.length > 1) {
        const middle = Math.ceil(part.length / 2);
        parts.push(part.slice(middle), part.slice(0, middle));
        continue;
      }
      rejected.push(...part.map((message) => ({ message, reason: describeError(error) })));
    }
    settled += part.length;
  }
  return { settled, rejected };
}

/** If so many events are rejected since the last one that was accepted, the events are not the cause. */
export const MAX_REJECTED_IN_ROW = 10;

interface LoggedBatch {
  readonly start: number;
  readonly position: number;
  readonly messages: readonly LoggedMessage[];
}

/** Whether a destination accepts an event that it has accepted before: if so, the ones that it rejects are the cause. */
export const acceptsAgain = async (sender: Sender, message: Message): Promise<boolean> =>
  (await sendBisecting(sender, [message])).rejected.length === 0;

/**
 * Decides what a batch has achieved, given the number of events that were rejected in a row before it. If they are too
 * many now, `refusal` is the reason of the last one, and the progress ends after the last accepted event: what was
 * rejected after that is not set aside, and stays in the backlog, as does what was not sent. Unless the destination has
 * just accepted another event (`isOpen`), which counts as sent.
 */
export function settleBatch(
  { start, position, messages: all }: LoggedBatch,
  { settled: sent, rejected }: Awaited<ReturnType<typeof sendBisecting>>,
  rejectedBefore: number,
  isOpen = false,
): {
  readonly progress: Progress;
  readonly refusal: string | undefined;
  readonly accepted?: Message | undefined;
} {
  const messages = all.slice(0, sent);
  const reasons = new Map(rejected.map(({ message, reason }) => [message, reason]));
  const accepted = messages.findLastIndex((message) => !reasons.has(message));
  const trailing = messages.length - 1 - accepted;
  const inRow = trailing + (accepted === -1 ? rejectedBefore : 0);
  const isRefusing = !isOpen && trailing > 0 && inRow >= MAX_REJECTED_IN_ROW;
  const settled = isRefusing ? messages.slice(0, accepted + 1) : messages;
  const last = settled.at(-1);
  const setAside = settled.flatMap((message) => {
    const reason = reasons.get(message);
    return reason === undefined ? [] : [{ ...message.event, reason }];
  });
  return {
    progress: {
      position:
        settled.length === all.length ? position : last === undefined ? start : last.event.position + 1,
      sent: settled.length - setAside.length + Number(isOpen),
      rejected: setAside,
      rejectedInRow: isRefusing || isOpen ? 0 : trailing,
    },
    refusal: isRefusing ? rejected.at(-1)?.reason : undefined,
    accepted: messages[accepted],
  };
}
