import { z } from 'zod';
import { MESSAGE_TYPES } from '../../domain.ts';
import type { DescribedDestination } from '../../store/destinations.ts';
import type { Rejected } from '../../store/rejected-events.ts';
import { cursorOf } from '../api/cursor.ts';
import { moment } from '../api/moment.ts';
import { limit } from '../api/query.ts';

const time = z.string().nullable();

/** A destination as the API answers it. */
export const destinationSchema = z
  .object({
    name: z.string(),
    type: z.string().nullable(),
    format: z.string().nullable(),
    state: z.enum(['running', 'paused', 'refused', 'not configured', 'not started']).meta({
      description: 'refused: it has refused us as such, and waits to be resumed',
    }),
    behind: z.number().int().nullable().meta({ description: 'stored events that it has not passed yet' }),
    behind_is_least: z.boolean().meta({ description: 'whether counting ended there' }),
    behind_since: time.meta({ description: 'when the oldest of them was received' }),
    sent: z.string().nullable(),
    last_sent_at: time,
    rejected: z.number().int().nullable().meta({ description: 'refused events that were not sent again' }),
    last_error: z.string().nullable(),
    last_error_at: time,
  })
  .meta({ id: 'Destination', description: 'Where events are forwarded to, and how it goes' });

/** A destination as the API answers it. */
export function toDestinationAnswer(described: DescribedDestination): z.output<typeof destinationSchema> {
  return {
    ...described,
    behind_since: described.behind_since?.toISOString() ?? null,
    last_sent_at: described.last_sent_at?.toISOString() ?? null,
    last_error_at: described.last_error_at?.toISOString() ?? null,
  };
}

/** One destination, by its name. */
export const oneDestination = z.object({ path: z.object({ name: z.string().max(200) }) });

/** Where to forward from. */
export const rewindBody = z.object({
  to: z
    .union([z.literal('now').transform(() => undefined), moment])
    .meta({ description: 'now, ISO 8601, or how long ago: 90m, 12h, 7d' }),
});

const rejectedCursor = cursorOf(z.object({ id: z.uuid() }));

/** An event that a destination has refused, as the API answers it. */
export const rejectedSchema = z
  .object({
    event_id: z.string(),
    occurred_at: z.string(),
    message_type: z.enum(MESSAGE_TYPES),
    rejected_at: z.string(),
    reason: z.string(),
  })
  .meta({ id: 'RejectedEvent', description: 'An event that a destination has refused for what it says' });

/** A refused event as the API answers it. */
export function toRejectedAnswer(rejected: Rejected): z.output<typeof rejectedSchema> {
  const { event_id, occurred_at, message_type, rejected_at, reason } = rejected;
  return {
    event_id,
    occurred_at: occurred_at.toISOString(),
    message_type,
    rejected_at: rejected_at.toISOString(),
    reason,
  };
}

/** A page of refused events. */
export const rejectedQuery = z.object({ limit: limit(50, 500), cursor: rejectedCursor });

/** Which refused events to send again. */
export const resendBody = z
  .object({
    ids: z.array(z.uuid('takes ids of events')).min(1).max(500).optional(),
    all: z.literal(true).optional().meta({ description: 'all that it has refused, a part at a time' }),
    limit: limit(100, 500),
    cursor: rejectedCursor,
  })
  .refine(({ ids, all }) => (ids === undefined) !== (all === undefined), {
    path: ['ids'],
    error: 'give either ids or all',
  });
