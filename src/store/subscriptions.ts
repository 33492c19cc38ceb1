import { sql, type Selectable } from 'kysely';
import type { Db } from './database.ts';
import { createLock, lockRow } from './locks.ts';
import type { Tables } from './tables.ts';

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
  const members = ['message_type', 'url', 'application', 'status', 'secret_digest'] as const;
  const known = sql.join(members.map((member) => sql.ref(`subscriptions.${member}`)));
  const given = sql.join(members.map((member) => sql.ref(`excluded.${member}`)));
  await db
    .insertInto('subscriptions')
    .values(subscription)
    .onConflict((conflict) =>
      conflict
        .columns(['source', 'subscription_id'])
        .doUpdateSet((row) => ({
          message_type: row.ref('excluded.message_type'),
          url: row.ref('excluded.url'),
          application: row.ref('excluded.application'),
          status: row.ref('excluded.status'),
          secret_digest: row.ref('excluded.secret_digest'),
          updated_at: sql<Date>`now()`,
        }))
        .where(sql<boolean>`(${known}) is distinct from (${given})`),
    )
    .execute();
}

/** Deletes the record of a subscription: by its id, or by message type and URL while the id is unknown. */
export async function forgetSubscription(db: Db, subscription: RecordedSubscription): Promise<void> {
  const { source, subscription_id: id, message_type, url } = subscription;
  const ofSource = db.deleteFrom('subscriptions').where('source', '=', source);
  const one =
    id === null
      ? ofSource
          .where('subscription_id', 'is', null)
          .where('message_type', '=', message_type)
          .where('url', '=', url)
      : ofSource.where('subscription_id', '=', id);
  await one.execute();
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
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
    await lockRow(trx, lock);
    return work();
  });
}
