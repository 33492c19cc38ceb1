import { z } from 'zod';
import { QUARANTINE_STATES } from '../../store/tables.ts';
import type { Replay } from '../../store/quarantine.ts';
import type { QuarantineFilter, Quarantined } from '../../store/search-quarantine.ts';
import { toAnswer } from '../api/answer.ts';
import { isoTime } from '../api/moment.ts';
import { cursorOf } from '../api/paging.ts';
import { limit } from '../api/query.ts';
import { conditionShape, deliveredType, inOrder, rangeShape } from '../events/conditions.ts';

/** A quarantined item for the API, without its content. */
export const quarantinedSchema = z
  .object({
    quarantine_id: z.string(),
    delivery_id: z.string(),
    received_at: isoTime,
    source: z.string(),
    message_type: deliveredType,
    reason: z.string(),
    encoding: z.string().nullable().describe('Content-Encoding, if the item is a whole body'),
    bytes: z.number().int(),
    state: z.enum(['open', 'replayed', 'discarded']),
    resolved_at: isoTime.nullable(),
    replay_delivery_id: z.string().nullable().describe('the delivery that its replay created'),
  })
  .meta({ id: 'Quarantined', description: 'A body or a record that could not be parsed or stored' });

/** A quarantined item for the API. */
export const toQuarantinedAnswer = (item: Quarantined): z.input<typeof quarantinedSchema> => ({
  ...item,
  state: item.resolution ?? 'open',
});

/** Conditions on quarantined items, as query parameters or members of a body. */
export const conditionsShape = {
  ...rangeShape,
  source: conditionShape.source,
  type: deliveredType.optional(),
  reason: conditionShape.text.describe('any part of the reason, ignoring case'),
};

/** The conditions of a list of quarantined items. */
export const quarantineQuery = inOrder({
  ...conditionsShape,
  state: z.enum(QUARANTINE_STATES, 'must be open, replayed, discarded or all').default('open'),
  limit: limit(50, 500),
  cursor: cursorOf(z.object({ id: z.uuid() })),
});

/** The conditions as the store's filter. */
export const filterOf = ({
  type,
  source,
  reason,
  since,
  until,
}: z.output<typeof matching>): QuarantineFilter => ({ source, messageType: type, reason, since, until });

const matching = inOrder(conditionsShape).strict();

/** The maximum per request, so that each request ends within seconds. */
const MOST_AT_ONCE = 1_000;

/** The items to replay or discard: these, or all matching open items, one part per request. */
export const chosenBody = z
  .strictObject({
    ids: z.array(z.uuid('must be ids of quarantined items')).min(1).max(MOST_AT_ONCE).optional(),
    matching: matching
      .optional()
      .describe('all open items that meet these conditions; {} for all open items'),
    limit: limit(500, MOST_AT_ONCE),
    cursor: cursorOf(z.object({ began: z.string(), after: z.uuid() })),
  })
  .refine(({ ids, matching }) => (ids === undefined) !== (matching === undefined), {
    path: ['ids'],
    error: 'set either ids or matching',
  });

/** The result of one replay. */
export const replaySchema = z
  .object({
    quarantine_id: z.string(),
    outcome: z
      .enum(['replayed', 'resolved', 'refused', 'unknown'])
      .describe(
        'replayed: stored as a new delivery; resolved: replayed or discarded before; refused: not accepted now, the item stays open; unknown: no such item',
      ),
    delivery_id: z.string().nullable().describe('the delivery that the replay created'),
    events: z.number().int(),
    duplicates: z.number().int(),
    again: z
      .array(z.object({ quarantine_id: z.string(), reason: z.string() }))
      .describe('records that were quarantined again, with their new ids'),
    reason: z.string().nullable().describe('why the item was not replayed'),
  })
  .meta({ id: 'Replay', description: 'The result of replaying one quarantined item' });

const NOT_REPLAYED = { delivery_id: null, events: 0, duplicates: 0, again: [], reason: null };

/** The result of a replay for the API. */
export function toReplayAnswer(replay: Replay): z.output<typeof replaySchema> {
  const base = { ...NOT_REPLAYED, quarantine_id: replay.quarantineId, outcome: replay.kind };
  switch (replay.kind) {
    case 'replayed': {
      const { deliveryId, events, duplicates, again } = replay;
      return { ...base, delivery_id: deliveryId, events, duplicates, again: again.map(toAnswer) };
    }
    case 'resolved': {
      const reason = `already ${replay.resolution} at ${replay.resolvedAt.toISOString()}`;
      return { ...base, delivery_id: replay.deliveryId, reason };
    }
    case 'refused':
      return { ...base, reason: replay.reason };
    case 'unknown':
      return { ...base, reason: 'no such item' };
  }
}
