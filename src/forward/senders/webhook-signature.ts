import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Message } from '../sender.ts';

const PREFIX = 'whsec_';

/** A key as Standard Webhooks writes it: 24 to 64 bytes in base64 behind `whsec_`. */
export const signingSecret = z.string().refine((text) => {
  const bytes = keyOf(text).length;
  return /^whsec_[A-Za-z0-9+/]+=*$/.test(text) && bytes >= 24 && bytes <= 64;
}, 'takes whsec_ and 24 to 64 bytes in base64 (try: echo whsec_$(openssl rand -base64 32))');

/**
 * The id of a batch: the same for the same events in the same order, so that it survives retries, also those after a
 * restart, and the receiver can tell a batch that it has already.
 */
export function batchId(batch: readonly Message[]): string {
  const hash = createHash('sha256');
  for (const { event } of batch) hash.update(`${event.eventId}\n`);
  return `msg_${hash.digest('base64url')}`;
}

/** The header `webhook-signature` (https://www.standardwebhooks.com): signed are id, time in seconds, and body. */
export function webhookSignature(secret: string, id: string, seconds: number, body: string): string {
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`);
  return `v1,${signature.digest('base64')}`;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64');
}
