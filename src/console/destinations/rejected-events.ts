import { z } from 'zod';
import { MESSAGE_TYPES } from '../../events/domain.ts';
import type { Destination } from '../../forward/parse-destinations.ts';
import { resendRejected } from '../../forward/send-to-destination.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { findRejected, pageOfRejected, type Rejected } from '../../store/destinations/rejected-events.ts';
import { describeIds, recordAction } from '../../store/access/operator-log.ts';
import type { Scope } from '../../store/server/scope.ts';
import { toAnswer, orBadGateway, type RouteContext } from '../api/route.ts';
import { cursorOf, pageOf, writeCursor, type PageOf } from '../api/paging.ts';
import { isoTime, limit } from '../api/parameters.ts';

export const rejectedSchema = z
  .object({
    event_id: z.string(),
    occurred_at: isoTime,
    message_type: z.enum(MESSAGE_TYPES),
    rejected_at: isoTime,
    reason: z.string(),
  })
  .meta({ id: 'RejectedEvent', description: 'An event that a destination rejected because of its content' });

const cursor = cursorOf(z.object({ id: z.uuid() }));

export const rejectedQuery = z.object({ limit: limit(50, 500), cursor });

export const resendBody = z
  .strictObject({
    ids: z.array(z.uuid('must be ids of events')).min(1).max(500).optional(),
    all: z.literal(true).optional().describe('all rejected events, one part per request'),
    limit: limit(100, 500),
    cursor,
  })
  .refine(({ ids, all }) => (ids === undefined) !== (all === undefined), {
    path: ['ids'],
    error: 'set either ids or all',
  });

/** Reads one page of the rejected events of a destination that were not resent. */
export async function readRejected(
  db: Db,
  scope: Scope,
  name: string,
  limit: number,
  after: string | undefined,
): Promise<PageOf<Rejected>> {
  const found = await pageOfRejected(db, scope, name, limit + 1, after);
  return pageOf(found, limit, ({ event_id: id }) => writeCursor({ id }));
}

export const resentSchema = z.object({
  event_id: z.string(),
  reason: z.string().nullable().describe('why the event was not sent; null if it was sent'),
});

type Resent = z.output<typeof resentSchema>;

/** Resends one part of the chosen events. Throws HttpError 502 if the destination cannot be reached. */
export async function resendChosen(
  db: Db,
  destination: Destination,
  body: z.output<typeof resendBody>,
  { operator, scope, signal }: RouteContext,
): Promise<{ results: Resent[]; next_cursor: string | null }> {
  const { name } = destination;
  const { ids } = body;
  const details = ids ? describeIds(ids) : { all: true };
  const { items, next_cursor } = await choosePart(db, scope, name, body);
  const results: Resent[] = [];
  await recordAction(
    db,
    { operator, action: 'destination.replay', subject: name, details },
    () =>
      orBadGateway(
        'DESTINATION_FAILED',
        `can't send to ${name}; the remaining events are unchanged`,
        async () => {
          for await (const one of resendRejected(db, destination, items)) {
            results.push(toAnswer(one));
            if (signal.aborted && results.length < items.length) throw new Error('the client disconnected');
          }
        },
      ),
    () => {
      const left = results.filter(({ reason }) => reason !== null).length;
      return { sent: results.length - left, left };
    },
  );
  return { results, next_cursor };
}

async function choosePart(
  db: Db,
  scope: Scope,
  name: string,
  { ids, limit, cursor }: z.output<typeof resendBody>,
): Promise<PageOf<Rejected>> {
  if (ids === undefined) return readRejected(db, scope, name, limit, cursor?.id);
  const items = await findRejected(db, scope, name, ids);
  const missing = ids.find((id) => items.every((one) => one.event_id !== id.toLowerCase()));
  if (missing !== undefined) {
    throw new HttpError(404, 'NOT_REJECTED', `${name} has no rejected event ${missing}`);
  }
  return { items, next_cursor: null };
}
