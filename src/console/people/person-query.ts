import { z } from 'zod';
import { isInOrder, mac, NOT_IN_ORDER, rangeShape, typeShape, userName } from '../events/conditions.ts';
import { cursor } from '../events/page-of-events.ts';
import type { WholeRange } from './people-schemas.ts';

/** Without a range, a person or device is looked at over so many days. */
export const USUAL_DAYS = 7;

const timeline = { ...rangeShape, ...typeShape, cursor };

/** What the page of a user is asked. */
export const userQuery = z.object({ name: userName, ...timeline }).refine(isInOrder, NOT_IN_ORDER);

/** What the page of a client is asked. */
export const clientQuery = z
  .object({ mac: mac('MAC address of the client, in any notation'), ...timeline })
  .refine(isInOrder, NOT_IN_ORDER);

/** A range with both ends: it ends now, and has begun a week before, where nothing else is said. */
export function wholeRange({
  since,
  until = new Date(),
}: {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}): WholeRange {
  return { since: since ?? new Date(until.getTime() - USUAL_DAYS * 86_400_000), until };
}
