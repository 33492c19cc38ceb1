import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import type { Db } from './database.ts';
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

/** A subscription as it is written down; `subscription_id` is null while the cloud has not told it. */
export type RecordedSubscription = Readonly<
  Pick<Selectable<Tables['subscriptions']>, (typeof COLUMNS)[number]>
>;

/** The subscriptions of a source that are written down, oldest first. */
export async function findSubscriptions(db: Db, source: string): Promise<RecordedSubscription[]> {
  return db.selectFrom('subscriptions').select(COLUMNS).where('source', '=', source).orderBy('id').execute();
}

/** Writes one subscription down, in the place of what was known under its id. One that is as it was keeps its times. */
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

/** Strikes one subscription out: by its id, or by type and url where the id is not known. */
export async function forgetSubscription(
  db: Db,
  { source, subscription_id: id, message_type, url }: RecordedSubscription,
): Promise<void> {
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

/** Makes these, whose ids are all known, the only ones written down of a source. */
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

/** First key of the advisory lock "somebody changes the subscriptions of a source"; the second is the source's. */
const SUBSCRIBING_LOCK = 0x78697173;

/** Does the work while no other process that shares this database changes the subscriptions of the source. */
export async function whileSubscribing<T>(db: Db, source: string, work: () => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    const keys = sql`${SUBSCRIBING_LOCK}::int, hashtext(${source})`;
    await sql`select pg_advisory_lock(${keys})`.execute(connection);
    try {
      return await work();
    } finally {
      await sql`select pg_advisory_unlock(${keys})`.execute(connection);
    }
  });
}
