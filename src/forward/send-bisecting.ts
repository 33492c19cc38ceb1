import { describeError } from '../errors.ts';
import { BatchRefusedError, EndpointRefusedError } from './sender.ts';
import type { Message, Sender } from './sender.ts';

/** A message that the destination will never take, and why. */
export interface Refused {
  readonly message: Message;
  readonly reason: string;
}

/** When so many are refused and none is taken, it is not the events that are wrong. */
const SUSPICIOUS_COUNT = 10;

/**
 * Sends a batch. What the destination refuses as a whole is halved until the message that causes it stands alone:
 * every other one is sent. Gives what was refused. Throws what the sender throws otherwise, and
 * EndpointRefusedError when a batch of some size is refused to the last message: then nothing was set aside.
 */
export async function sendBisecting(sender: Sender, batch: readonly Message[]): Promise<readonly Refused[]> {
  const refused = await bisect(sender, batch);
  const [first] = refused;
  if (first !== undefined && batch.length >= SUSPICIOUS_COUNT && refused.length === batch.length) {
    throw new EndpointRefusedError(`it refuses every event, the first because: ${first.reason}`);
  }
  return refused;
}

async function bisect(sender: Sender, batch: readonly Message[]): Promise<readonly Refused[]> {
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
