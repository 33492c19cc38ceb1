import { z } from 'zod';
import { QUARANTINE_STATES } from '../../store/search-quarantine.ts';
import type { Quarantined, QuarantineFilter } from '../../store/search-quarantine.ts';
import { cursorOf } from '../api/cursor.ts';
import { limit } from '../api/query.ts';
import { conditionShape, isInOrder, NOT_IN_ORDER, rangeShape } from '../events/conditions.ts';
import { deliveredType } from '../message-type.ts';

/** Something in quarantine as the API answers it, all but its bytes. */
export const quarantinedSchema = z
  .object({
    quarantine_id: z.string(),
    delivery_id: z.string(),
    received_at: z.string(),
    source: z.string(),
    message_type: deliveredType,
    reason: z.string(),
    encoding: z.string().nullable().meta({ description: 'Content-Encoding of a whole body' }),
    bytes: z.number().int(),
    state: z.enum(['open', 'replayed', 'discarded']),
    resolved_at: z.string().nullable(),
    replay_delivery_id: z.string().nullable().meta({ description: 'the delivery that its replay made' }),
  })
  .meta({ id: 'Quarantined', description: 'Bytes or a record that could not be stored as an event' });

/** Something in quarantine as the API answers it. */
export function toQuarantinedAnswer({
  resolution,
  ...item
}: Quarantined): z.output<typeof quarantinedSchema> {
  return {
    ...item,
    received_at: item.received_at.toISOString(),
    state: resolution ?? 'open',
    resolved_at: item.resolved_at?.toISOString() ?? null,
  };
}

/** Conditions on what lies in quarantine, as parameters of a query or members of a body. */
const conditionsShape = {
  ...rangeShape,
  source: conditionShape.source,
  type: deliveredType.optional(),
  reason: conditionShape.text.meta({ description: 'any part of the reason, whatever its case' }),
};

/** Quarantine: which. */
export const quarantineQuery = z
  .object({
    ...conditionsShape,
    state: z.enum(QUARANTINE_STATES, 'takes open, replayed, discarded or all').default('open'),
    limit: limit(50, 500),
    cursor: cursorOf(z.object({ id: z.uuid() })),
  })
  .refine(isInOrder, NOT_IN_ORDER);

/** What the store looks for. */
export const filterOf = ({
  type,
  source,
  reason,
  since,
  until,
}: z.output<typeof matching>): QuarantineFilter => ({ source, messageType: type, reason, since, until });

const matching = z.object(conditionsShape);

/** At most so many in one request: each request ends within seconds. */
const MOST_AT_ONCE = 1_000;

/** What to replay or discard: these, or what is open and matches, a part at a time. */
export const chosenBody = z
  .object({
    ids: z.array(z.uuid('takes ids of quarantine')).min(1).max(MOST_AT_ONCE).optional(),
    matching: matching
      .optional()
      .meta({ description: 'all that is open and meets these; {} is all that is open' }),
    limit: limit(500, MOST_AT_ONCE),
    cursor: cursorOf(z.object({ began: z.string(), after: z.uuid() })),
  })
  .refine(({ ids, matching }) => (ids === undefined) !== (matching === undefined), {
    path: ['ids'],
    error: 'give either ids or matching',
  });
