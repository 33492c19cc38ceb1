import { z } from 'zod';
import { limit } from '../api/query.ts';
import type { Db } from '../../store/database.ts';
import { listActions } from '../../store/operator-log.ts';
import { actionLine } from './operator-log-schemas.ts';
import type { OperatorActionLine } from './operator-log-schemas.ts';

/** Which entries: so many, behind those that were shown. */
export const askedPage = z.object({
  limit: limit(50, 500),
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'is not one that was given out here')
    .optional()
    .meta({ description: 'next_cursor of the page before' }),
});

/** A page of the operator log, newest first. */
export interface ActionPage {
  readonly items: OperatorActionLine[];
  /** Where the next page begins; null on the last. */
  readonly next_cursor: string | null;
}

/** Reads one page, which is the last when nothing lies behind it. */
export async function readPage(db: Db, asked: z.output<typeof askedPage>): Promise<ActionPage> {
  const found = await listActions(db, { limit: asked.limit + 1, before: asked.cursor });
  const items = found.slice(0, asked.limit).map(actionLine);
  return { items, next_cursor: found.length > items.length ? (items.at(-1)?.id ?? null) : null };
}
