import { sql, type Selectable } from 'kysely';
import { describeError } from '../../lib/errors.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import type { Db, Trx } from '../server/database.ts';
import { sendHint } from '../server/hints.ts';
import type { Tables } from '../server/schema/tables.ts';
import type { OperatorActionName } from '../server/schema/access-tables.ts';

/** Who acts, and the interface used. */
export interface Operator {
  /**
   * The account, `admin token` or `local user`; user and host of the command line; or `xiq-sink` for what the service
   * does by itself.
   */
  readonly name: string;
  readonly via: 'console' | 'api' | 'command' | 'system';
}

/** The service, for what it does by itself. */
export const SERVICE: Operator = { name: 'xiq-sink', via: 'system' };

export interface OperatorAction {
  readonly operator: Operator;
  readonly action: OperatorActionName;
  /** The object of the action: a destination, an id, a source. */
  readonly subject?: string | undefined;
  /** The parameters of the action; never a secret. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Runs an action of a person and records it in the operator log: before it starts, so that nothing happens unrecorded,
 * and after it ended, with the outcome; then all processes look for what it changed. `resultOf` returns what is recorded of
 * the result. Throws what the work throws.
 */
export async function recordAction<T>(
  db: Db,
  action: OperatorAction,
  work: () => Promise<T>,
  resultOf: (result: T) => Readonly<Record<string, unknown>> = () => ({}),
): Promise<T> {
  const { id } = await db
    .insertInto('operator_log')
    .values(entryOf(action))
    .returning('id')
    .executeTakeFirstOrThrow();
  const end = async (outcome: 'done' | 'failed', result: Readonly<Record<string, unknown>>) => {
    await db
      .updateTable('operator_log')
      .set({ outcome, ended_at: NOW, result: JSON.stringify(result) })
      .where('id', '=', id)
      .execute();
    await sendHint(db);
  };
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await end('failed', { error: describeError(error) });
    throw error;
  }
  await end('done', resultOf(result));
  return result;
}

/** The time of the statement, not of its transaction. */
const NOW = sql<Date>`clock_timestamp()`;

const entryOf = ({ operator, action, subject, details = {} }: OperatorAction) => ({
  operator: operator.name,
  via: operator.via,
  action,
  subject: subject ?? null,
  details: JSON.stringify(details),
});

/** Records an action that has ended, in one entry: a look, a refusal, or a step of the transaction. */
export async function recordEnded(
  db: Db | Trx,
  action: OperatorAction,
  outcome: 'done' | 'failed' = 'done',
  result: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await db
    .insertInto('operator_log')
    .values({ ...entryOf(action), outcome, ended_at: NOW, result: JSON.stringify(result) })
    .execute();
}

const LOGGED_IDS = 100;

/** Selected ids, in the form that the details of an action have. */
export function describeIds(ids: readonly string[]): Readonly<Record<string, unknown>> {
  return { ids: ids.slice(0, LOGGED_IDS), id_count: ids.length };
}

/** The result of the last action of this kind on this subject that has ended. */
export async function lastEnded(
  db: Db,
  action: OperatorActionName,
  subject: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const row = await db
    .selectFrom('operator_log')
    .select('result')
    .where('action', '=', action)
    .where('subject', '=', subject)
    .where('outcome', '=', 'done')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.result ?? undefined;
}

/** When each account last logged in to the console, by name. */
export async function lastLogins(db: Db): Promise<ReadonlyMap<string, Date>> {
  const rows = await db
    .selectFrom('operator_log')
    .select((row) => ['operator', row.fn.max('began_at').as('at')])
    .where('action', '=', 'console.login')
    .where('outcome', '=', 'done')
    .groupBy('operator')
    .execute();
  return new Map(rows.map(({ operator, at }) => [operator, at]));
}

/** When the last backup ended; without one, when the log begins. Undefined if it is empty. */
export async function lastBackupAt(db: Db): Promise<Date | undefined> {
  const { at } = await db
    .selectFrom('operator_log')
    .select(({ fn }) => {
      const backups = fn.max('ended_at').filterWhere('action', '=', 'database.backup');
      return fn.coalesce(backups.filterWhere('outcome', '=', 'done'), fn.min('began_at')).as('at');
    })
    .executeTakeFirstOrThrow();
  return at ?? undefined;
}

export type LoggedAction = Selectable<Tables['operator_log']>;

interface ActionFilter extends TimeRange {
  readonly limit: number;
  /** Only entries before the one with this id. */
  readonly before?: string | undefined;
  readonly operator?: string | undefined;
  readonly action?: OperatorActionName | undefined;
}

/** The recorded actions that match, newest first. */
export async function listActions(db: Db, { limit, before, operator, action, since, until }: ActionFilter) {
  let query = db.selectFrom('operator_log').selectAll().orderBy('id', 'desc').limit(limit);
  if (before !== undefined) query = query.where('id', '<', before);
  if (operator !== undefined) query = query.where('operator', '=', operator);
  if (action !== undefined) query = query.where('action', '=', action);
  if (since !== undefined) query = query.where('began_at', '>=', since);
  if (until !== undefined) query = query.where('began_at', '<', until);
  return query.execute();
}
