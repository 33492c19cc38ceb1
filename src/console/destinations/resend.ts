import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { describeIds, recordAction } from '../../store/operator-log.ts';
import { findRejected } from '../../store/rejected-events.ts';
import type { Asking } from '../api/route.ts';
import type { resendBody } from './destination-schemas.ts';
import type { DestinationsOptions } from './destinations-options.ts';
import { readRejected } from './page-of-rejected.ts';
import type { PageOfRejected } from './page-of-rejected.ts';
import { saying } from './saying.ts';

/** What came of sending a refused event again. */
export const resentSchema = z.object({
  event_id: z.string(),
  reason: z.string().nullable().meta({ description: 'why it was not sent; null when it was' }),
});

type Resent = z.output<typeof resentSchema>;

/** Sends a part of what is chosen again. Throws HttpError 502 when the destination cannot be reached. */
export async function resendChosen(
  { db, resend }: Pick<DestinationsOptions, 'db' | 'resend'>,
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
