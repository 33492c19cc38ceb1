import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALL_SOURCES } from '../../../../src/store/server/scope.ts';
import { readConservation } from '../../../../src/store/counts/read-arrivals.ts';
import { openDatabase, type Db } from '../../../../src/store/server/database.ts';
import { ADOPTION, LAST_COMMIT } from '../../../../src/store/server/schema/adopt.ts';
import { loadMigrations } from '../../../../src/store/server/schema/migrations.ts';
import { buildIndexes } from '../../../../src/store/server/schema/build-indexes.ts';
import { migrateStore, readMigrationState } from '../../../../src/store/server/schema/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { auditRecord } from '../../../support/deliveries.ts';
import {
  endOfProgram,
  postDelivery,
  SECRET,
  startProgram,
  temporaryDirectory,
} from '../../../support/program.ts';
import { SERVICE_ROLE } from '../../../support/roles.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { readSchema } from './adopted/read-schema.ts';

/** A dump of what the program of LAST_COMMIT has stored, sealed, forwarded and erased, with all tables filled. */
const DUMP = path.join(import.meta.dirname, 'adopted/last-of-34.sql.gz');

let test: TestDatabase;
/** Connections of the superuser, who becomes the owner to migrate. */
let db: Db;
beforeEach(async () => {
  test = await createTestDatabase();
  db = openDatabase(test.adminUrl, () => undefined);
  // The dump creates the schema, which belongs to the owner.
  await sql`drop schema public cascade`.execute(test.db);
  const dump = gunzipSync(await readFile(DUMP)).toString();
  await test.db.connection().execute(async (connection) => {
    await sql.raw(dump).execute(connection);
    await sql`reset all`.execute(connection);
  });
});
afterEach(async () => {
  await db.destroy();
  await test.drop();
});

const TABLES = sql<{ name: string }>`
  select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    and relname not in ('kysely_migration', 'kysely_migration_lock', 'schema_compatibility') order by 1`;

/** Columns that only conversions used. */
const DROPPED = ['old_before', 'old_seconds', 'old_id_limit', 'old_xid', 'old_id', 'cursor_xid', 'cursor_id'];

/** All rows of all tables. */
async function readRows(): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const rows: Record<string, readonly unknown[]> = {};
  for (const { name } of (await TABLES.execute(test.db)).rows) {
    const found = await sql<{ row: unknown }>`
      select to_jsonb(one) - ${DROPPED}::text[] as row from ${sql.id(name)} as one order by to_jsonb(one)::text`.execute(
      test.db,
    );
    rows[name] = found.rows.map(({ row }) => row);
  }
  return rows;
}

const AFTER_BASELINE = Object.keys(await loadMigrations())
  .filter((name) => name > '0011')
  .toSorted();

describe('a database of the last program before the baseline', () => {
  it('is adopted as it stands: with the schema of a new one, and all rows', async () => {
    const before = await readRows();
    const filled = Object.entries(before).filter(([, rows]) => rows.length > 0);
    // The program has ended, with nothing left in its queues, and nobody logged in.
    const empty = Object.keys(before).filter((table) => before[table]?.length === 0);
    expect(empty).toEqual([
      'access_tokens',
      'delivery_sums',
      'log_delivery_queue',
      'log_queue',
      'log_timestamps',
      'processes',
      'sessions',
    ]);
    expect(filled.length).toBeGreaterThan(40);
    expect((await readMigrationState(db)).unknown).toEqual([]);

    expect(await migrateStore(db, undefined, undefined, SERVICE_ROLE)).toEqual([ADOPTION, ...AFTER_BASELINE]);
    // With the columns that were added since, and the proven quarters that are to be sealed now.
    const { log_queue: queued, ...rows } = await readRows();
    const { log_queue: _, ...rowsBefore } = before;
    expect(rows).toMatchObject(rowsBefore);
    expect(queued).toEqual([expect.objectContaining({ kind: 'quarter' })]);
    expect(await migrateStore(db, undefined, undefined, SERVICE_ROLE)).toEqual([]);
    expect(await readMigrationState(db)).toMatchObject({ pending: [], unknown: [] });

    await buildIndexes(db);
    const fresh = await createTestDatabase();
    try {
      expect(await readSchema(test.db)).toEqual(await readSchema(fresh.db));
    } finally {
      await fresh.drop();
    }
    expect((await readConservation(db, ALL_SOURCES)).unbalanced).toEqual([]);
  });

  it('serves: what it had is intact, and new deliveries are sealed with it', async () => {
    const settings = {
      DATABASE_URL: test.databaseUrl,
      MIGRATION_DATABASE_URL: test.adminUrl,
      DATA_DIR: await temporaryDirectory(),
      WEBHOOK_SECRET: SECRET,
    };
    // The key of the dump is not kept: its public half stands for it, and a new one signs.
    const { rows } = await sql<{
      key: string;
    }>`select public_key as key from log_checkpoints limit 1`.execute(test.db);
    await writeFile(path.join(settings.DATA_DIR, 'log-key'), rows[0]?.key ?? '');
    const program = await startProgram(settings);
    expect(program.output()).toContain(ADOPTION);
    const response = await postDelivery(program, 'AUDIT_LOG_ALL', [
      auditRecord({ description: 'stored after the adoption' }),
    ]);
    expect(response.status).toBe(200);
    const { code, stdout } = await waitFor(async () => {
      const ended = await endOfProgram(settings, 'verify');
      return ended.stdout.includes('0 NOT SEALED YET') ? ended : undefined;
    });
    expect(stdout.toString()).toMatch(/ intact, 0 expired, 1 erased, 0 ALTERED, 0 MISSING, 0 INSERTED/);
    expect(code).toBe(0);
    await program.end('SIGTERM');
  });

  it.each([
    ['deliveries are not counted', `update arrivals_progress set old_before = now()`],
    ['events have no position', `update log_state set old_xid = '1'`],
    ['destinations have no position', `update destinations set cursor_position = null`],
    ['indexes are not built', `drop index log_entries_ssid_prefix`],
    [
      'deliveries are not partitioned by month',
      `do $$ declare part regclass; begin
        perform begin_storing();
        for part in select inhrelid from pg_inherits where inhparent = 'deliveries'::regclass
          and inhrelid <> 'deliveries_default'::regclass
        loop execute format('alter table deliveries detach partition %s', part); end loop;
        insert into deliveries_default (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
            duplicate_count, quarantined_count, source, message_type, origin)
          values (gen_random_uuid(), '2020-01-01', 1, 0, 0, 0, 0, 0, 's', 'AUDIT_LOG_ALL', 'webhook');
      end $$`,
    ],
  ])('is not adopted while %s', async (reason, statement) => {
    await sql.raw(statement).execute(test.db);
    await expect(migrateStore(db, undefined, undefined, SERVICE_ROLE)).rejects.toThrow(
      `An earlier version of xiq-sink has not finished converting the database: ${reason}. Update it first: with the commit ${LAST_COMMIT}, run its serve until it has finished.`,
    );
    expect((await sql`select from kysely_migration`.execute(test.db)).rows).toHaveLength(34);
  });

  it('is not adopted if an even earlier program created it', async () => {
    await sql`delete from kysely_migration where name >= '0030'`.execute(test.db);
    const settings = {
      DATABASE_URL: test.databaseUrl,
      MIGRATION_DATABASE_URL: test.adminUrl,
      DATA_DIR: await temporaryDirectory(),
    };
    const { code, stderr } = await endOfProgram(settings, 'migrate');
    expect(code).toBe(2);
    expect(stderr).toContain(
      `The database belongs to an earlier version of xiq-sink. Update it first: with the commit ${LAST_COMMIT}, run its migrate, and its serve. Then start this version.`,
    );
  });
});
