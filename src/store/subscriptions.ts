import { sql, type Selectable } from 'kysely';
import type { Db } from './database.ts';
import { createLock, lockRow } from './locks.ts';
import type { Tables } from './tables.ts';
import { run } from './statement.ts';

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
  const {
    subscription_id: id,
    source,
    message_type: type,
    url,
    application,
    status,
    secret_digest,
  } = subscription;
  await run(db)`
    insert into subscriptions as known
      (subscription_id, source, message_type, url, application, status, secret_digest)
    values (${id}, ${source}, ${type}, ${url}, ${application}, ${status}, ${secret_digest})
    on conflict (source, subscription_id) do update set message_type = excluded.message_type, url = excluded.url,
      application = excluded.application, status = excluded.status, secret_digest = excluded.secret_digest,
      updated_at = now()
    where (known.message_type, known.url, known.application, known.status, known.secret_digest)
      is distinct from (excluded.message_type, excluded.url, excluded.application, excluded.status,
        excluded.secret_digest)`;
}

/** Deletes the record of a subscription: by its id, or by message type and URL while the id is unknown. */
export async function forgetSubscription(db: Db, subscription: RecordedSubscription): Promise<void> {
  const { source, subscription_id: id, message_type: type, url } = subscription;
  const isIt =
    id === null
      ? sql`subscription_id is null and message_type = ${type} and url = ${url}`
      : sql`subscription_id = ${id}`;
  await run(db)`delete from subscriptions where source = ${source} and ${isIt}`;
}

/** Replaces the recorded subscriptions of a source by these, whose ids are all known. */
export async function replaceSubscriptions(
  db: Db,
  source: string,
  subscriptions: readonly RecordedSubscription[],
): Promise<void> {
  const ids = subscriptions.map((subscription) => subscription.subscription_id);
  await db.transaction().execute(async (trx) => {
    await run(trx)`
      delete from subscriptions
      where source = ${source} and subscription_id = any(${ids}::bigint[]) is not true`;
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
