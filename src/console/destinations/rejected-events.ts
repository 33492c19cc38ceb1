import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { findRejected, pageOfRejected, type Rejected } from '../../store/rejected-events.ts';
import { describeIds, recordAction } from '../../store/operator-log.ts';
import type { Scope } from '../../store/scope.ts';
import { toAnswer } from '../api/answer.ts';
import { pageOf, writeCursor, type PageOf } from '../api/paging.ts';
import { orBadGateway, type Asking } from '../api/route.ts';
import type { resendBody } from './destination-schemas.ts';

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

/** What resending rejected events needs. */
export interface ResendOptions {
  readonly db: Db;
  /** Resends rejected events one by one, as the results are consumed. Throws if nothing can be sent. */
  readonly resend: (
    name: string,
    rejected: readonly Rejected[],
  ) => AsyncIterable<{ readonly eventId: string; readonly reason: string | undefined }>;
}

/** The result of resending one event. */
export const resentSchema = z.object({
  event_id: z.string(),
  reason: z.string().nullable().describe('why the event was not sent; null if it was sent'),
});

type Resent = z.output<typeof resentSchema>;

/** Resends one part of the chosen events. Throws HttpError 502 if the destination cannot be reached. */
export async function resendChosen(
  { db, resend }: ResendOptions,
  name: string,
  body: z.output<typeof resendBody>,
  { operator, scope, signal }: Asking,
): Promise<{ results: Resent[]; next_cursor: string | null }> {
  const { ids } = body;
  const { items, next } = await choosePart(db, scope, name, body);
  const results: Resent[] = [];
  await recordAction(
    db,
    {
      operator,
      action: 'destination.replay',
      subject: name,
      details: ids ? describeIds(ids) : { all: true },
    },
    () =>
      orBadGateway(
        'DESTINATION_FAILED',
        `can't send to ${name}; the remaining events are unchanged`,
        async () => {
          for await (const one of resend(name, items)) {
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
  return { results, next_cursor: next ?? null };
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
  return { items, next: undefined };
}
