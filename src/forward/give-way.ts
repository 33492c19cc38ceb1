import { setTimeout as sleep } from 'node:timers/promises';

/** Work of others that took longer than this is a sign that senders wait for their answers. */
const BUSY_MS = 1;

/** However much others have to do, forwarding goes on. */
const LONGEST_PAUSE_MS = 25;

/**
 * Lets everything else that waits in this process go first, and rests as long as that took again: a destination that
 * is caught up with must not hold up answers. It costs next to nothing where nothing waits.
 */
export async function giveWay(): Promise<void> {
  const began = performance.now();
  await new Promise(setImmediate);
  const others = performance.now() - began;
  if (others > BUSY_MS) await sleep(Math.min(2 * others, LONGEST_PAUSE_MS));
}
