import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, openLimited, readServerFacts, type Db } from '../../../src/store/server/database.ts';
import { createPool, SESSION, withClient } from '../../../src/store/server/postgres.ts';
import { createRoles } from '../../../src/store/server/roles/create-roles.ts';
import { migrateStore, readMigrationState } from '../../../src/store/server/schema/migrate.ts';
import { createOwnedDatabase } from '../../support/database.ts';
import { setHostile } from '../../support/hostile-settings.ts';
import { READER_ROLE, withRole } from '../../support/roles.ts';
import { useDatabase } from '../../support/use-database.ts';

const ignore = () => undefined;

const test = useDatabase();
beforeAll(() => setHostile(test.db));

/** The settings of `SESSION` as a session has them, but for those that a pool sets itself. */
async function settingsOf(
  run: (text: string) => Promise<{ rows: readonly unknown[] }>,
  own: readonly string[] = [],
) {
  const names = Object.keys(SESSION).filter((name) => !own.includes(name));
  const { rows } = await run(
    `select ${[...names, 'transaction_isolation'].map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
  );
  return rows[0];
}

const OF_POOLS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
const asText = (settings: object) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
const ISOLATION = { transaction_isolation: 'read committed' };
const WANTED = { ...asText(SESSION), ...ISOLATION };

const without = (settings: object, names: readonly string[]) =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)));

const through = (db: Db) => (text: string) => sql.raw(text).execute(db);

describe('a database that sets everything otherwise', () => {
  it('changes no statement of the program, in a transaction, outside of one, or without a pool', async () => {
    const db = test.service;
    expect(await settingsOf(through(db))).toEqual(WANTED);
    expect(await db.transaction().execute((trx) => settingsOf(through(trx)))).toEqual(WANTED);
    expect(await withClient(test.databaseUrl, (client) => settingsOf((text) => client.query(text)))).toEqual(
      WANTED,
    );
    const limited = openLimited('console', test.databaseUrl, ignore);
    expect(await settingsOf(through(limited), OF_POOLS)).toEqual(without(WANTED, OF_POOLS));
    await limited.destroy();
    const direct = createPool({ connectionString: test.databaseUrl, max: 1, isDirect: true }, ignore);
    expect(await settingsOf((text) => direct.query(text))).toEqual(WANTED);
    await direct.end();
  });

  it('keeps the isolation that a transaction asks for', async () => {
    const { rows } = await test.service
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((trx) =>
        sql<{ isolation: string }>`select current_setting('transaction_isolation') as isolation`.execute(trx),
      );
    expect(rows).toEqual([{ isolation: 'repeatable read' }]);
  });

  it('is found to differ in nothing, as its sessions see it', async () => {
    expect(await readServerFacts(test.service)).toMatchObject({ encoding: 'UTF8', differing: [] });
  });
});

describe('a database that cannot be used', () => {
  it('is refused for its encoding, with the statement that creates it', async () => {
    const name = `xiq_sink_latin_${process.pid}`;
    await test.query`create database ${sql.id(name)} encoding 'LATIN1' locale_provider libc lc_collate 'C' lc_ctype 'C' template template0`;
    const url = new URL(test.adminUrl);
    url.pathname = name;
    const latin = openDatabase(url.href, ignore);
    await expect(migrateStore(latin)).rejects.toThrow(
      /has the encoding LATIN1\. .*encoding 'UTF8' template template0/,
    );
    await latin.destroy();
    await test.query`drop database ${sql.id(name)}`;
  });

  it('is refused for a missing right, with the grant', async () => {
    const owned = await createOwnedDatabase();
    await sql`revoke create on schema public from public`.execute(owned.admin);
    await sql`alter schema public owner to postgres`.execute(owned.admin).catch(ignore);
    await expect(migrateStore(owned.db)).rejects.toThrow(/grant create on schema public to xiq_sink_owned_/);
    await owned.drop();
  });

  it('is refused where a superuser has made the tables, with their owner', async () => {
    const owned = await createOwnedDatabase();
    await migrateStore(owned.admin);
    const refusal = /^The tables belong to \w+, and xiq_sink_owned_\w+ may not use them\. Create the roles/;
    await expect(readMigrationState(owned.db)).rejects.toThrow(refusal);
    await expect(migrateStore(owned.db)).rejects.toThrow(refusal);
    await owned.drop();
  });

  it('is given to a service that was a superuser, and is none from then on', async () => {
    const owned = await createOwnedDatabase();
    const { databaseUrl } = owned;
    const { username } = new URL(databaseUrl);
    await sql`alter role ${sql.id(username)} superuser`.execute(owned.admin);
    const bootstrap = new URL(test.adminUrl);
    bootstrap.pathname = new URL(databaseUrl).pathname;
    await createRoles(bootstrap.href, { databaseUrl, readerUrl: withRole(databaseUrl, READER_ROLE) });
    expect(await migrateStore(owned.db)).not.toEqual([]);
    const isSuper = sql`select rolsuper from pg_roles where rolname = ${username}`;
    expect((await isSuper.execute(owned.admin)).rows).toEqual([{ rolsuper: false }]);
    await owned.drop();
  });
});
