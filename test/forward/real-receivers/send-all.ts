import { expect } from 'vitest';
import { OutageError } from '../../../src/lib/errors.ts';
import type { Message, Sender } from '../../../src/forward/sender.ts';
import { waitFor } from '../../support/wait-for.ts';

/** How far a sending has come. */
export interface Progress {
  sent: number;
  outages: number;
}

/** Sends batch by batch, each again after an outage, as the forwarder does. */
export async function sendAll(
  sender: Sender,
  messages: readonly Message[],
  size: number,
  progress: Progress = { sent: 0, outages: 0 },
): Promise<Progress> {
  for (let at = 0; at < messages.length; at += size) {
    const batch = messages.slice(at, at + size);
    await waitFor(async () => {
      try {
        expect(await sender.send(batch)).toEqual([]);
        return true;
      } catch (error) {
        if (!(error instanceof OutageError)) throw error;
        progress.outages += 1;
        return false;
      }
    });
    progress.sent += batch.length;
  }
  return progress;
}
