import { describeError } from '../errors.ts';
import { BatchRefusedError, type Message, type Sender } from './sender.ts';

/** A message that the destination will never accept, and why. */
interface RejectedMessage {
  readonly message: Message;
  readonly reason: string;
}

/** What became of a batch. */
export interface SentBatch {
  /** So many of its first messages were accepted or rejected. The others were not sent. */
  readonly settled: number;
  /** In order. */
  readonly rejected: readonly RejectedMessage[];
}

/**
 * The most requests for one batch. They find each of forty rejected messages in a row, and reach the first one in a batch
 * of any size. A destination that refuses everything costs no more than these.
 */
export const MAX_REQUESTS = 100;

/**
 * Sends a batch. If the destination refuses it as a whole, the batch is halved until the message that causes the refusal
 * is alone; the others are sent, as far as `MAX_REQUESTS` suffice. Throws the sender's other errors.
 */
export async function sendBisecting(sender: Sender, batch: readonly Message[]): Promise<SentBatch> {
  const rejected: RejectedMessage[] = [];
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
