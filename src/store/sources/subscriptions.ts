import { sql, type Selectable } from 'kysely';
import type { Db } from '../server/database.ts';
import { createLock, lockRow } from '../server/locks.ts';
import type { Tables } from '../server/schema/tables.ts';
import { run } from '../server/statement.ts';

const COLUMNS = [
  'subscription_id',
  'source',
  'message_type',
  'url',
  'application',
  'status',
  'secret_digest',
] as const;

/** A recorded subscription; `subscription_id` is null until the cloud reports it. */
export type RecordedSubscription = Readonly<
  Pick<Selectable<Tables['subscriptions']>, (typeof COLUMNS)[number]>
>;

/** The recorded subscriptions of a source, oldest first. */
export async function findSubscriptions(db: Db, source: string): Promise<RecordedSubscription[]> {
  return db.selectFrom('subscriptions').select(COLUMNS).where('source', '=', source).orderBy('id').execute();
}

/** Records a subscription, replacing the row with the same id. An unchanged row keeps its times. */
export async function recordSubscription(db: Db, subscription: RecordedSubscription): Promise<void> {
  const { subscription_id, source, ...rest } = subscription;
  const { message_type, url, application, status, secret_digest } = rest;
  await db
    .insertInto('subscriptions')
    .values({ subscription_id, source, message_type, url, application, status, secret_digest })
    .onConflict((exists) =>
      exists
        .columns(['source', 'subscription_id'])
        .doUpdateSet({ message_type, url, application, status, secret_digest, updated_at: sql`now()` })
        .where((is) =>
          is.or([
            is('subscriptions.message_type', '<>', message_type),
            is('subscriptions.url', '<>', url),
            is('subscriptions.application', '<>', application),
            is('subscriptions.status', '<>', status),
            is('subscriptions.secret_digest', 'is distinct from', secret_digest),
          ]),
        ),
    )
    .execute();
}

/** Deletes the record of a subscription: by its id, or by message type and URL while the id is unknown. */
export async function forgetSubscription(db: Db, subscription: RecordedSubscription): Promise<void> {
  const { source, subscription_id: id, message_type: type, url } = subscription;
  const ofSource = db.deleteFrom('subscriptions').where('source', '=', source);
  const deletion =
    id === null
      ? ofSource.where('subscription_id', 'is', null).where('message_type', '=', type).where('url', '=', url)
      : ofSource.where('subscription_id', '=', id);
  await deletion.execute();
}

/** Replaces the recorded subscriptions of a source by these, whose ids are all known. */
export async function replaceSubscriptions(
  db: Db,
  source: string,
  subscriptions: readonly RecordedSubscription[],
): Promise<void> {
  const ids = subscriptions.map((subscription) => subscription.subscription_id);
  await db.transaction().execute(async (trx) => {
    await trx
      .deleteFrom('subscriptions')
      .where('source', '=', source)
      .where(sql<boolean>`subscription_id = any(${ids}::bigint[]) is not true`)
      .execute();
    for (const subscription of subscriptions) await recordSubscription(trx, subscription);
  });
}

/** Runs the work while no other process on this database changes the subscriptions of the source. */
export async function whileSubscribing<T>(db: Db, source: string, work: () => Promise<T>): Promise<T> {
  const lock = `subscriptions of ${source}`;
  await createLock(db, lock);
  return db.transaction().execute(async (trx) => {
    // The cloud may take minutes, and this session has nothing else to do.
    await run(trx)`set local idle_in_transaction_session_timeout = 0`;
    await lockRow(trx, lock);
    return work();
  });
}
