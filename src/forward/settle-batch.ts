import type { Progress } from '../store/destinations.ts';
import type { LoggedMessage } from './batch-events.ts';
import type { SentBatch } from './send-bisecting.ts';

/** If so many events are rejected since the last one that was accepted, the events are not the cause. */
export const MAX_REJECTED_IN_ROW = 10;

/** A batch, with the cursor's position before it, and once all of it is sent. */
interface LoggedBatch {
  readonly start: number;
  readonly position: number;
  readonly messages: readonly LoggedMessage[];
}

/**
 * Decides what a batch has achieved, given the number of events that were rejected in a row before it. If they are too
 * many now, `refusal` is the reason of the last one, and the progress ends after the last accepted event: what was
 * rejected after that is not set aside, and stays in the backlog, as does what was not sent.
 */
export function settleBatch(
  { start, position, messages: all }: LoggedBatch,
  { settled: sent, rejected }: SentBatch,
  rejectedBefore: number,
): { readonly progress: Progress; readonly refusal: string | undefined } {
  const messages = all.slice(0, sent);
  const reasons = new Map(rejected.map(({ message, reason }) => [message, reason]));
  const accepted = messages.findLastIndex((message) => !reasons.has(message));
  const trailing = messages.length - 1 - accepted;
  const inRow = trailing + (accepted === -1 ? rejectedBefore : 0);
  const isRefusing = trailing > 0 && inRow >= MAX_REJECTED_IN_ROW;
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
      sent: settled.length - setAside.length,
      rejected: setAside,
      rejectedInRow: isRefusing ? 0 : trailing,
    },
    refusal: isRefusing ? rejected.at(-1)?.reason : undefined,
  };
}
