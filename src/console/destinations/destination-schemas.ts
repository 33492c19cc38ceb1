import { z } from 'zod';
import { MESSAGE_TYPES } from '../../events/domain.ts';
import { isoTime, moment, limit, text } from '../api/parameters.ts';
import { cursorOf } from '../api/paging.ts';
import { namePath } from '../api/route.ts';

const time = isoTime.nullable();

export const destinationSchema = z
  .object({
    name: z.string(),
    type: z.string().nullable(),
    format: z.string().nullable(),
    origin: z
      .enum(['settings', 'database'])
      .nullable()
      .describe('database: added in the console or by the API; null: removed'),
    state: z
      .enum(['running', 'paused', 'refused', 'not configured', 'not started'])
      .describe(
        'refused: the destination rejected the connection, the credentials or ten events in a row; resume it after fixing the cause',
      ),
    behind: z.number().int().nullable().describe('backlog: stored events that have not been forwarded yet'),
    behind_since: time.describe('when the oldest event of the backlog was received'),
    sent: z.string().nullable(),
    last_sent_at: time,
    rejected: z.number().int().nullable().describe('rejected events that have not been resent'),
    last_error: z.string().nullable(),
    last_error_at: time,
  })
  .meta({ id: 'Destination', description: 'A destination and its state' });

export const oneDestination = { path: namePath };

/** The members of a destination in the settings file. The console sends those without a field of their own as YAML. */
export const destinationBody = z
  .looseObject({ name: text.max(63), type: text, more: text.max(50_000).optional() })
  .describe('the options in docs/forwarding.md; credentials as text, which is stored encrypted');

export const rewindBody = z.strictObject({
  to: z
    .union([z.literal('now').transform(() => undefined), moment])
    .describe('now, ISO 8601, or relative: 90m, 12h, 7d'),
});

const rejectedCursor = cursorOf(z.object({ id: z.uuid() }));

export const rejectedSchema = z
  .object({
    event_id: z.string(),
    occurred_at: isoTime,
    message_type: z.enum(MESSAGE_TYPES),
    rejected_at: isoTime,
    reason: z.string(),
  })
  .meta({ id: 'RejectedEvent', description: 'An event that a destination rejected because of its content' });

export const rejectedQuery = z.object({ limit: limit(50, 500), cursor: rejectedCursor });

export const resendBody = z
  .strictObject({
    ids: z.array(z.uuid('must be ids of events')).min(1).max(500).optional(),
    all: z.literal(true).optional().describe('all rejected events, one part per request'),
    limit: limit(100, 500),
    cursor: rejectedCursor,
  })
  .refine(({ ids, all }) => (ids === undefined) !== (all === undefined), {
    path: ['ids'],
    error: 'set either ids or all',
  });
