import { createHash } from 'node:crypto';
import type { Message } from '../sender.ts';

/**
 * The id of a batch: the same for the same events in the same order. It survives retries, even after a restart, so
 * the receiver can recognize a batch that it already has.
 */
export function batchId(batch: readonly Message[]): string {
  const hash = createHash('sha256');
  for (const { event } of batch) hash.update(`${event.eventId}\n`);
  return `msg_${hash.digest('base64url')}`;
}
