import type { Selectable } from 'kysely';
import type { Db } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';

/** The answer to a login that failed. The login is not sent again before `until`; null: not before a person wants it. */
export type RefusedLogin = Readonly<Omit<Selectable<Tables['refused_logins']>, 'source' | 'fingerprint'>>;

/** The refused logins, as the clients of a source use them. */
export type RefusedLogins = ReturnType<typeof refusedLoginsOf>;

/** Keeps the refused logins of a source, for all processes and across restarts. */
export function refusedLoginsOf(db: Db, source: string) {
  return {
    /** The answer to these credentials, by whichever source they were sent. */
    find: (fingerprint: Buffer): Promise<RefusedLogin | undefined> =>
      db.selectFrom('refused_logins').selectAll().where('fingerprint', '=', fingerprint).executeTakeFirst(),
    async save(fingerprint: Buffer, { status, reason, refused_at, until }: RefusedLogin): Promise<void> {
      const login = { fingerprint, status, reason, refused_at, until };
      await db
        .insertInto('refused_logins')
        .values({ source, ...login })
        .onConflict((exists) => exists.column('source').doUpdateSet(login))
        .execute();
    },
    /** Forgets the answer to these credentials, and that to earlier ones of this source. */
    async forget(fingerprint: Buffer): Promise<void> {
      await db
        .deleteFrom('refused_logins')
        .where((is) => is.or([is('fingerprint', '=', fingerprint), is('source', '=', source)]))
        .execute();
    },
  };
}

export const listRefusedLogins = (db: Db) =>
  db.selectFrom('refused_logins').selectAll().orderBy('source').execute();
