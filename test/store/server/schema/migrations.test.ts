import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { maintainPartitions } from '../../../../src/store/partitions/partitions.ts';
import { openDatabase, type Db } from '../../../../src/store/server/database.ts';
import { buildIndexes } from '../../../../src/store/server/schema/build-indexes.ts';
import { migrateStore, readMigrationState } from '../../../../src/store/server/schema/migrate.ts';
import {
  loadMigrations,
  type KnownMigration,
  type Migrations,
} from '../../../../src/store/server/schema/migrations.ts';
import { useDatabase } from '../../../support/use-database.ts';

/** The migrations of the baseline say nothing: there is no older program that knows the tables. */
const FIRST_TO_SAY = '0011';

const test = useDatabase({ forEach: true });
/** Connections of the superuser, who becomes the owner to migrate. */
let db: Db;
beforeEach(() => {
  db = openDatabase(test.adminUrl, () => undefined);
});
afterEach(() => db.destroy());

/** The migrations of a program that is newer by one. */
const newer = async (migration: Partial<KnownMigration>): Promise<Migrations> => ({
  ...(await loadMigrations()),
  '9999_newer': { up: async () => undefined, ...migration },
});

describe('a program', () => {
  it('runs beside a newer one whose migrations only add', async () => {
    const migrations = await newer({
      olderProgramsMayRun: true,
      up: async (trx) => {
        await sql`create table of_the_newer_program (id int)`.execute(trx);
      },
    });
    expect(await migrateStore(db, undefined, migrations)).toEqual(['9999_newer']);
    expect(await migrateStore(db)).toEqual([]);
    expect(await readMigrationState(db)).toMatchObject({
      pending: [],
      unknown: ['9999_newer'],
      incompatible: [],
    });
  });

  it.each([{ olderProgramsMayRun: false }, {}])(
    'refuses the tables of a newer one that says %j',
    async (says) => {
      await migrateStore(db, undefined, await newer(says));
      await expect(migrateStore(db)).rejects.toThrow(/newer version of xiq-sink, which applied 9999_newer/);
      expect(await readMigrationState(db)).toMatchObject({ incompatible: ['9999_newer'] });
    },
  );

  it('refuses tables that lack some of its migrations and have others', async () => {
    await migrateStore(db, undefined, await newer({ olderProgramsMayRun: true }));
    const other = { ...(await loadMigrations()), '9998_mine': { up: async () => undefined } };
    await expect(migrateStore(db, undefined, other)).rejects.toThrow(/9999_newer\), but not 9998_mine/);
  });

  it('names a migration that failed, of which nothing is left', async () => {
    const failing = await newer({
      up: async (trx) => {
        await sql`create table half (); select 1 / 0`.execute(trx);
      },
    });
    await expect(migrateStore(db, undefined, failing)).rejects.toMatchObject({
      message: 'migration 9999_newer failed; the database is unchanged',
      cause: { message: 'division by zero' },
    });
    expect((await readMigrationState(db)).unknown).toEqual([]);
  });
});

it('every migration says whether older programs may run', async () => {
  const migrations = Object.entries(await loadMigrations()).filter(([name]) => name >= FIRST_TO_SAY);
  expect(migrations.filter(([, { olderProgramsMayRun }]) => olderProgramsMayRun === undefined)).toEqual([]);
  const { rows } = await sql<{
    migration: string;
  }>`select migration from schema_compatibility order by 1`.execute(db);
  expect(rows.map(({ migration }) => migration)).toEqual(Object.keys(await loadMigrations()).toSorted());
});

it('migrations are applied once by processes that start at the same time, on an empty database too', async () => {
  const comments = () => test.query`
    select object::text, objsubid, description
    from pg_description, pg_identify_object_as_address(classoid, objoid, objsubid) as object
    where object_names[1] = 'public' and type <> 'schema' order by 1`;
  const before = await comments();
  await test.query`drop schema public cascade`;
  await test.query`create schema public`;
  const applied = await Promise.all([1, 2, 3].map(() => migrateStore(test.db)));
  expect(applied.map((list) => list.length > 0).filter(Boolean)).toHaveLength(1);
  expect(await comments()).toEqual(before);
});

describe('indexes on large tables', () => {
  const PLAIN = { table: 'quarantine', suffix: 'test', definition: 'btree (reason)' };
  const PARTITIONED = {
    table: 'audit_events',
    suffix: 'test',
    definition: 'btree (user_name, code) where user_name is not null',
  };

  const isValid = async (index: string) =>
    (
      await test.query<{ valid: boolean }>`select indisvalid as valid from pg_index
        where indexrelid = to_regclass(${index})`
    )[0]?.valid;

  const partitionsOf = async (relation: string) =>
    Number(
      (
        await test.query<{
          count: string;
        }>`select count(*) from pg_inherits where inhparent = to_regclass(${relation})`
      )[0]?.count,
    );

  it('are built once, by the owner, on every partition, and on those that come later', async () => {
    const migrations = await newer({ indexes: [PLAIN, { ...PARTITIONED, replaces: 'code' }] });
    await migrateStore(db, undefined, migrations);
    expect(await buildIndexes(db, { migrations, isPooled: async () => true })).toBe('pooled');
    expect(await buildIndexes(db, { migrations })).toEqual(['quarantine_test', 'audit_events_test']);
    expect(await isValid('quarantine_test')).toBe(true);
    expect(await isValid('audit_events_test')).toBe(true);
    expect(await isValid('audit_events_code')).toBeUndefined();
    const count = await partitionsOf('audit_events');
    expect(await partitionsOf('audit_events_test')).toBe(count);
    expect(await buildIndexes(db, { migrations, isPooled: async () => true })).toEqual([]);

    await maintainPartitions(db, new Date(Date.now() + 40 * 86_400_000), {});
    expect(await partitionsOf('audit_events')).toBeGreaterThan(count);
    expect(await partitionsOf('audit_events_test')).toBe(await partitionsOf('audit_events'));
    expect(await buildIndexes(db, { migrations })).toEqual([]);
    expect(
      await test.query`select distinct tableowner from pg_indexes join pg_tables using (tablename)
          where indexname = 'quarantine_test'`,
    ).toEqual([{ tableowner: 'xiq_owner' }]);
  });
});
