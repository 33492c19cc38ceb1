import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { listActions, type LoggedAction } from '../../store/operator-log.ts';
import { OPERATOR_ACTIONS } from '../../store/tables.ts';
import { isoTime, moment } from '../api/moment.ts';
import { cursorParameter, pageOf, type PageOf } from '../api/paging.ts';
import { limit } from '../api/query.ts';

const details = z.record(z.string(), z.unknown());

/** One entry of the operator log. */
export const actionSchema = z
  .object({
    id: z.string(),
    began_at: isoTime.describe('ISO 8601, UTC'),
    operator: z
      .string()
      .describe('account, "admin token", "local user", or user and host of the command line'),
    via: z.enum(['console', 'api', 'command', 'system']),
    action: z.enum(OPERATOR_ACTIONS),
    subject: z.string().nullable().describe('a destination, an id or a source'),
    details: details.describe('input of the action'),
    ended_at: isoTime.nullable(),
    outcome: z
      .enum(['done', 'failed'])
      .nullable()
      .describe('null while the action runs; stays null if its process was killed'),
    result: details.nullable(),
  })
  .meta({ id: 'OperatorAction' });

/** Which entries. */
export const askedEntries = z.object({
  operator: z.string().optional().describe('exactly this operator'),
  action: z.enum(OPERATOR_ACTIONS).optional(),
  since: moment.optional(),
  until: moment.optional(),
});

/** The query of a page of entries. */
export const askedPage = askedEntries.extend({
  limit: limit(50, 500),
  cursor: cursorParameter((text) => (/^\d{1,18}$/.test(text) ? text : undefined)),
});

/** Reads one page of entries, newest first. */
export async function readActions(
  db: Db,
  { limit, cursor, ...conditions }: z.output<typeof askedPage>,
): Promise<PageOf<LoggedAction>> {
  const found = await listActions(db, { ...conditions, limit: limit + 1, before: cursor });
  return pageOf(found, limit, ({ id }) => id);
}
