import { z } from 'zod';
import { QUARANTINE_STATES } from '../../store/server/schema/delivery-tables.ts';
import { type Replay, findReplayTallies } from '../../store/quarantine/quarantine.ts';
import {
  type QuarantineFilter,
  type Quarantined,
  countQuarantine,
  findQuarantined,
  findReplayed,
  pageOfOpen,
  searchQuarantine,
} from '../../store/quarantine/search-quarantine.ts';
import { sourceShape, toAnswer } from '../api/route.ts';
import { isoTime, limit } from '../api/parameters.ts';
import { cursorOf, pageOf, writeCursor } from '../api/paging.ts';
import { conditionShape, deliveredType, withValidRange, rangeShape } from '../events/conditions.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { describeIds } from '../../store/access/operator-log.ts';
import type { Scope } from '../../store/server/scope.ts';

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
    replay_delivery_id: z.string().nullable().describe('the delivery created by its replay'),
  })
  .meta({ id: 'Quarantined', description: 'A body or a record that could not be parsed or stored' });

export const toQuarantinedAnswer = (item: Quarantined): z.input<typeof quarantinedSchema> => ({
  ...item,
  state: item.resolution ?? 'open',
});

/** Conditions on quarantined items, as query parameters or members of a body. */
export const conditionsShape = {
  ...rangeShape,
  type: deliveredType.optional(),
  reason: conditionShape.text.describe('any part of the reason, ignoring case'),
};

export const quarantineQuery = withValidRange({
  ...conditionsShape,
  state: z.enum(QUARANTINE_STATES, 'must be open, replayed, discarded or all').default('open'),
  limit: limit(50, 500),
  cursor: cursorOf(z.object({ id: z.uuid() })),
});

const filterOf = ({ type, ...conditions }: z.output<typeof matching>): QuarantineFilter => ({
  ...conditions,
  messageType: type,
});

const matching = withValidRange({ ...conditionsShape, ...sourceShape }).strict();

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
    cursor: cursorOf(z.object({ began: z.string().regex(/^[\d-]{10} [\d:.]+[+-][\d:]+$/), after: z.uuid() })),
  })
  .refine(({ ids, matching }) => (ids === undefined) !== (matching === undefined), {
    path: ['ids'],
    error: 'set either ids or matching',
  });

export const againSchema = z.array(z.object({ quarantine_id: z.string(), reason: z.string() }));

export const replaySchema = z
  .object({
    quarantine_id: z.string(),
    outcome: z
      .enum(['replayed', 'resolved', 'refused', 'unknown'])
      .describe(
        'replayed: stored as a new delivery; resolved: already replayed or discarded; refused: still not accepted, the item stays open; unknown: no such item',
      ),
    delivery_id: z.string().nullable().describe('the delivery created by the replay'),
    events: z.number().int(),
    duplicates: z.number().int(),
    again: againSchema.describe('records that were quarantined again, with their new ids'),
    reason: z.string().nullable().describe('why the item was not replayed'),
  })
  .meta({ id: 'Replay', description: 'The result of replaying one quarantined item' });

export type ReplayAnswer = z.output<typeof replaySchema>;

const NOT_REPLAYED = { delivery_id: null, events: 0, duplicates: 0, again: [], reason: null };

export function toReplayAnswer(replay: Replay): ReplayAnswer {
  const base = { ...NOT_REPLAYED, quarantine_id: replay.quarantineId, outcome: replay.kind };
  switch (replay.kind) {
    case 'replayed':
      return { ...base, ...toAnswer(replay), again: replay.again.map(toAnswer) };
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

export async function readQuarantine(db: Db, scope: Scope, query: z.output<typeof quarantineQuery>) {
  const { limit, state, cursor } = query;
  const filter = filterOf(query);
  const [found, total] = await Promise.all([
    searchQuarantine(db, scope, filter, state, limit + 1, cursor?.id),
    countQuarantine(db, scope, filter, state),
  ]);
  return { ...pageOf(found, limit, ({ quarantine_id: id }) => writeCursor({ id })), total };
}

export type DescribedQuarantined = Awaited<ReturnType<typeof describeQuarantined>>;

/**
 * Reads one quarantined item without its content, with the item whose replay quarantined it (`replayOf`) and the result of
 * its own replay. Throws HttpError 404 if there is none.
 */
export async function describeQuarantined(db: Db, scope: Scope, id: string) {
  const [item] = await findQuarantined(db, scope, [id]);
  if (item === undefined) {
    throw new HttpError(404, 'UNKNOWN_QUARANTINED', `no quarantined item has the id ${id}`);
  }
  const { replay_delivery_id: replayId } = item;
  const [replayOf, accounts] = await Promise.all([
    findReplayed(db, scope, item.delivery_id),
    replayId === null ? undefined : findReplayTallies(db, scope, [replayId]),
  ]);
  return { item, replayOf, account: replayId === null ? undefined : accounts?.get(replayId) };
}

/** Finds the chosen items: those ids, or one part of the matching open items, oldest first. */
export async function choosePart(db: Db, scope: Scope, body: z.output<typeof chosenBody>) {
  const { ids, matching = {}, limit, cursor } = body;
  if (ids !== undefined) {
    const items = await findQuarantined(db, scope, ids);
    const found = new Set(items.map((item) => item.quarantine_id));
    return { items, missing: ids.filter((id) => !found.has(id.toLowerCase())), next_cursor: null };
  }
  const { items, next } = await pageOfOpen(db, scope, filterOf(matching), limit, cursor);
  return { items, missing: [], next_cursor: next === undefined ? null : writeCursor({ ...next }) };
}

/** A choice in the operator log: a single id is the subject; several ids, or the conditions, are in the details. */
export const describeChoice = ({ ids, matching }: z.output<typeof chosenBody>) => ({
  subject: ids?.length === 1 ? ids[0] : undefined,
  details: ids === undefined ? { filter: matching } : describeIds(ids),
});
