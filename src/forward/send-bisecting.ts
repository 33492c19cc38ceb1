import { describeError } from '../errors.ts';
import { BatchRefusedError, EndpointRefusedError, type Message, type Sender } from './sender.ts';

/** A message that the destination will never accept, and why. */
export interface RejectedMessage {
  readonly message: Message;
  readonly reason: string;
}

/** If this many are rejected and none is accepted, the events are not the cause. */
const SUSPICIOUS_COUNT = 10;

/**
 * Sends a batch. If the destination refuses it as a whole, the batch is halved until the message that causes the refusal
 * is alone; all others are sent. Returns the rejected messages. Throws the sender's other errors, and
 * EndpointRefusedError if every message of a larger batch is rejected: then nothing is set aside.
 */
export async function sendBisecting(
  sender: Sender,
  batch: readonly Message[],
): Promise<readonly RejectedMessage[]> {
  const rejected = await bisect(sender, batch);
  const [first] = rejected;
  if (first !== undefined && batch.length >= SUSPICIOUS_COUNT && rejected.length === batch.length) {
    throw new EndpointRefusedError(`it rejects every event, the first one because: ${first.reason}`);
  }
  return rejected;
}

async function bisect(sender: Sender, batch: readonly Message[]): Promise<readonly RejectedMessage[]> {
  const [first, second] = batch;
  if (first === undefined) return [];
  try {
    const refusals = await sender.send(batch);
    return refusals.flatMap(({ index, reason }) => {
      const message = batch[index];
      return message === undefined ? [] : [{ message, reason }];
    });
  } catch (error) {
    if (!(error instanceof BatchRefusedError)) throw error;
    if (second === undefined) return [{ message: first, reason: describeError(error) }];
  }
  const middle = Math.ceil(batch.length / 2);
  return [...(await bisect(sender, batch.slice(0, middle))), ...(await bisect(sender, batch.slice(middle)))];
}
