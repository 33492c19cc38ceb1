import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { listActions, OPERATOR_ACTIONS } from '../../store/operator-log.ts';
import type { LoggedAction } from '../../store/operator-log.ts';
import { limit } from '../api/query.ts';

const details = z.record(z.string(), z.unknown());

/** One entry of the operator log. */
export const actionSchema = z
  .object({
    id: z.string(),
    began_at: z.string().meta({ description: 'ISO 8601, UTC' }),
    operator: z
      .string()
      .meta({ description: 'the name given at log-in, or user and host of the command line' }),
    via: z.enum(['console', 'api', 'command']),
    action: z.enum(OPERATOR_ACTIONS),
    subject: z.string().nullable().meta({ description: 'a destination, an id, a source' }),
    details: details.meta({ description: 'what was asked for' }),
    ended_at: z.string().nullable(),
    outcome: z
      .enum(['done', 'failed'])
      .nullable()
      .meta({ description: 'null while it goes on, or for ever when its process was killed' }),
    result: details.nullable(),
  })
  .meta({ id: 'OperatorAction' });

export type OperatorActionLine = z.input<typeof actionSchema>;

/** An entry as the API tells it. */
export function actionLine({ began_at, ended_at, ...rest }: LoggedAction): OperatorActionLine {
  return { ...rest, began_at: began_at.toISOString(), ended_at: ended_at?.toISOString() ?? null };
}

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
export async function readActions(db: Db, asked: z.output<typeof askedPage>): Promise<ActionPage> {
  const found = await listActions(db, { limit: asked.limit + 1, before: asked.cursor });
  const items = found.slice(0, asked.limit).map(actionLine);
  return { items, next_cursor: found.length > items.length ? (items.at(-1)?.id ?? null) : null };
}
