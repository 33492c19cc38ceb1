import { z } from 'zod';
import { describeError, HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { findRejected, pageOfRejected } from '../../store/destinations.ts';
import type { Rejected } from '../../store/destinations.ts';
import { describeIds, recordAction } from '../../store/operator-log.ts';
import { writeCursor } from '../api/paging.ts';
import type { Asking } from '../api/route.ts';
import type { resendBody } from './destination-schemas.ts';

/** Some events that a destination has refused, and where to go on. */
export interface PageOfRejected {
  readonly items: readonly Rejected[];
  /** Undefined at the end. */
  readonly next: string | undefined;
}

/** Reads one page of the events that a destination has refused and that were not sent again. */
export async function readRejected(
  db: Db,
  name: string,
  limit: number,
  after: string | undefined,
): Promise<PageOfRejected> {
  // One more tells whether there is a next page.
  const found = await pageOfRejected(db, name, limit + 1, after);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { items, next: hasMore ? writeCursor({ id: last.event_id }) : undefined };
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

/** What came of sending a refused event again. */
export const resentSchema = z.object({
  event_id: z.string(),
  reason: z.string().nullable().meta({ description: 'why it was not sent; null when it was' }),
});

type Resent = z.output<typeof resentSchema>;

/** Sends a part of what is chosen again. Throws HttpError 502 when the destination cannot be reached. */
export async function resendChosen(
  { db, resend }: ResendOptions,
  name: string,
  body: z.output<typeof resendBody>,
  { operator, signal }: Asking,
): Promise<{ results: Resent[]; next_cursor: string | null }> {
  const { ids } = body;
  const { items, next } = await choosePart(db, name, body);
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
      saying(`${name} could not be sent to, the rest is as it was`, async () => {
        for await (const { eventId, reason } of resend(name, items)) {
          results.push({ event_id: eventId, reason: reason ?? null });
          if (signal.aborted && results.length < items.length) throw new Error('nobody waited any more');
        }
      }),
    () => {
      const left = results.filter(({ reason }) => reason !== null).length;
      return { sent: results.length - left, left };
    },
  );
  return { results, next_cursor: next ?? null };
}

async function choosePart(
  db: Db,
  name: string,
  { ids, limit, cursor }: z.output<typeof resendBody>,
): Promise<PageOfRejected> {
  if (ids === undefined) return readRejected(db, name, limit, cursor?.id);
  const items = await findRejected(db, name, ids);
  const missing = ids.find((id) => items.every((one) => one.event_id !== id.toLowerCase()));
  if (missing !== undefined) {
    throw new HttpError(404, 'NOT_REJECTED', `${name} has not refused the event ${missing}`);
  }
  return { items, next: undefined };
}

/** What a destination answers, or that it does not, is for the person to read: it is no defect of this program. */
export async function saying<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(502, 'DESTINATION_FAILED', `${what}: ${describeError(error)}`, { cause: error });
  }
}
