import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import { describeError } from '../errors.ts';
import type { Db } from './database.ts';
import type { OperatorActionName, Tables } from './tables.ts';

/** Who does something, and by which way. */
export interface Operator {
  /** The name given at log-in, or user and host of the command line. */
  readonly name: string;
  readonly via: 'console' | 'api' | 'command';
}

/** Something that a person does. */
export interface OperatorAction {
  readonly operator: Operator;
  readonly action: OperatorActionName;
  /** What it is done to: a destination, an id, a source. */
  readonly subject?: string | undefined;
  /** What was asked for; never a secret. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Does something that a person asked for, and writes it down: before it is done, so that nothing is done unseen, and
 * how it ended. `resultOf` says what is kept of the result. Throws what the work throws.
 */
export async function recordAction<T>(
  db: Db,
  { operator, action, subject, details }: OperatorAction,
  work: () => Promise<T>,
  resultOf: (result: T) => Readonly<Record<string, unknown>> = () => ({}),
): Promise<T> {
  const { id } = await db
    .insertInto('operator_log')
    .values({
      operator: operator.name,
      via: operator.via,
      action,
      subject: subject ?? null,
      details: JSON.stringify(details ?? {}),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await endAction(db, id, 'failed', { error: describeError(error) });
    throw error;
  }
  await endAction(db, id, 'done', resultOf(result));
  return result;
}

/** So many ids are written down; `id_count` tells of more. */
const LOGGED_IDS = 100;

/** Chosen ids, as the details of an action keep them. */
export function describeIds(ids: readonly string[]): Readonly<Record<string, unknown>> {
  return { ids: ids.slice(0, LOGGED_IDS), id_count: ids.length };
}

async function endAction(
  db: Db,
  id: string,
  outcome: 'done' | 'failed',
  result: Readonly<Record<string, unknown>>,
): Promise<void> {
  await db
    .updateTable('operator_log')
    .set({ outcome, ended_at: sql<Date>`clock_timestamp()`, result: JSON.stringify(result) })
    .where('id', '=', id)
    .execute();
}

/** One entry of the operator log. */
export type LoggedAction = Selectable<Tables['operator_log']>;

/** What people have done, newest first; behind the entry with the id `before`, if given. */
export async function listActions(
  db: Db,
  page: { readonly limit: number; readonly before?: string | undefined },
): Promise<LoggedAction[]> {
  let query = db.selectFrom('operator_log').selectAll().orderBy('id', 'desc').limit(page.limit);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  return query.execute();
}
