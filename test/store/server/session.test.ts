import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, openLimited, readServerFacts, type Db } from '../../../src/store/server/database.ts';
import { createPool, SESSION, withClient } from '../../../src/store/server/postgres.ts';
import { migrateStore } from '../../../src/store/server/schema/migrate.ts';
import { createOwnedDatabase } from '../../support/database.ts';
import { setHostile } from '../../support/hostile-settings.ts';
import { useDatabase } from '../../support/use-database.ts';

const ignore = () => undefined;

const test = useDatabase();
beforeAll(() => setHostile(test.db));

/** What differs from what every session of the program is to have, but for the names that a pool sets itself. */
async function differences(run: (text: string) => Promise<{ rows: unknown[] }>, own: readonly string[] = []) {
  const names = Object.keys(SESSION).filter((name) => !own.includes(name));
  const { rows } = await run(
    `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}, current_setting('transaction_isolation') as isolation`,
  );
  const wanted = Object.fromEntries(names.map((name) => [name, String(Reflect.get(SESSION, name))]));
  expect(rows).toEqual([{ ...wanted, isolation: 'read committed' }]);
}

const through = (db: Db) => (text: string) => sql.raw(text).execute(db);

describe('a database that sets everything otherwise', () => {
  it('changes no statement of the program, in a transaction, outside of one, or without a pool', async () => {
    await using database = {
      db: openDatabase(test.databaseUrl, ignore),
      [Symbol.asyncDispose]: () => database.db.destroy(),
    };
    await differences(through(database.db));
    await database.db.transaction().execute((trx) => differences(through(trx)));
    await withClient(test.databaseUrl, (client) => differences((text) => client.query(text)));
    const limited = openLimited('console', test.databaseUrl, ignore);
    await differences(through(limited), [
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
    ]).finally(() => limited.destroy());
    const direct = createPool({ connectionString: test.databaseUrl, max: 1, isDirect: true }, ignore);
    await differences((text) => direct.query(text)).finally(() => direct.end());
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
    await sql`create database ${sql.id(name)} encoding 'LATIN1' locale_provider libc lc_collate 'C' lc_ctype 'C' template template0`.execute(
      test.db,
    );
    const url = new URL(test.adminUrl);
    url.pathname = name;
    const latin = openDatabase(url.href, ignore);
    await expect(migrateStore(latin)).rejects.toThrow(
      /has the encoding LATIN1\. .*encoding 'UTF8' template template0/,
    );
    await latin.destroy();
    await sql`drop database ${sql.id(name)}`.execute(test.db);
  });

  it('is refused for a missing right, with the grant', async () => {
    const owned = await createOwnedDatabase();
    await sql`revoke create on schema public from public`.execute(owned.admin);
    await sql`alter schema public owner to postgres`.execute(owned.admin).catch(ignore);
    await expect(migrateStore(owned.db)).rejects.toThrow(/grant create on schema public to xiq_sink_owned_/);
    await owned.drop();
  });
});
