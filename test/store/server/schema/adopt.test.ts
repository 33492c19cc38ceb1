import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepLogKey } from '../../../../src/seal/log-key.ts';
import { createSealer } from '../../../../src/seal/sealer.ts';
import { readTrust } from '../../../../src/seal/trust.ts';
import { verifyLog } from '../../../../src/seal/verify/verify-log.ts';
import { readConservation } from '../../../../src/store/counts/read-arrivals.ts';
import { rollUpArrivals } from '../../../../src/store/counts/roll-up-arrivals.ts';
import { latestCheckpoint } from '../../../../src/store/seal/seal-log.ts';
import { openDatabase, type Db } from '../../../../src/store/server/database.ts';
import { readInstallation } from '../../../../src/store/server/installation.ts';
import { ADOPTION } from '../../../../src/store/server/schema/adopt.ts';
import { buildIndexes } from '../../../../src/store/server/schema/build-indexes.ts';
import { migrateStore, readMigrationState } from '../../../../src/store/server/schema/migrate.ts';
import { loadMigrations } from '../../../../src/store/server/schema/migrations.ts';
import { ALL_SOURCES } from '../../../../src/store/server/scope.ts';
import { storeDeliveries } from '../../../support/actions.ts';
import { auditRecord, queuedDelivery } from '../../../support/deliveries.ts';
import { databaseForTest, directoryForTest } from '../../../support/for-one-test.ts';
import { SERVICE_ROLE } from '../../../support/roles.ts';
import { NO_ANCHORS } from '../../../support/trust.ts';
import { untilSeen } from '../../../support/until-seen.ts';
import { useDatabase } from '../../../support/use-database.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { readSchema } from './adopted/read-schema.ts';

/** A dump of what the program of LAST_COMMIT has stored, sealed, forwarded and erased, with all tables filled. */
const DUMP = path.join(import.meta.dirname, 'adopted/last-of-34.sql.gz');

const test = useDatabase({ forEach: true });
/** Connections of the superuser, who becomes the owner to migrate. */
let db: Db;
beforeEach(async () => {
  db = openDatabase(test.adminUrl, () => undefined);
  // The dump creates the schema, which belongs to the owner.
  await test.query`drop schema public cascade`;
  const dump = gunzipSync(await readFile(DUMP)).toString();
  await test.db.connection().execute(async (connection) => {
    await sql.raw(dump).execute(connection);
    await sql`reset all`.execute(connection);
  });
});
afterEach(() => db.destroy());

const migrate = () => migrateStore(db, undefined, undefined, SERVICE_ROLE);

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

    expect(await migrate()).toEqual([ADOPTION, ...AFTER_BASELINE]);
    // With the columns that were added since, and the proven quarters that are to be sealed now.
    const { log_queue: queued, ...rows } = await readRows();
    const { log_queue: _, ...rowsBefore } = before;
    expect(rows).toMatchObject(rowsBefore);
    expect(queued).toEqual([expect.objectContaining({ kind: 'quarter' })]);
    expect(await migrate()).toEqual([]);
    expect(await readMigrationState(db)).toMatchObject({ pending: [], unknown: [] });

    await buildIndexes(db);
    const fresh = await databaseForTest();
    expect(await readSchema(test.db)).toEqual(await readSchema(fresh.db));
    expect((await readConservation(db, ALL_SOURCES)).unbalanced).toEqual([]);
  });

  it('serves: what it had is intact, and new deliveries are sealed with it', async () => {
    await migrate();
    const dataDir = await directoryForTest();
    const logKeyFile = path.join(dataDir, 'log-key');
    const { publicKey = '' } = (await latestCheckpoint(test.service)) ?? {};
    // The key of the dump is not kept: its public half stands for it, and a new one signs.
    await writeFile(logKeyFile, publicKey);
    const key = await keepLogKey(logKeyFile, (await readInstallation(test.service)).id, publicKey);
    const trust = () => readTrust({ dataDir, logKeyFile, ...NO_ANCHORS });
    // Nor is that of erasures, without which nothing is stored.
    await test.query`delete from refused_records`;
    // First of all, the log begins to count by the transactions of this server.
    await untilSeen(test.service);
    await storeDeliveries(test.service, queuedDelivery('AUDIT_LOG_ALL', [auditRecord({})]));
    await waitFor(() => rollUpArrivals(test.service));
    await untilSeen(test.service);
    const sealer = createSealer(test.service, key, trust);
    while ((await sealer.seal()) === 'more');
    await sealer.checkpoint();
    const options = { anchors: [], trust: await trust() };
    const ignore = () => undefined;
    expect(await verifyLog(test.service, options, ignore, ignore)).toMatchObject({
      expired: 0,
      erased: 1,
      altered: 0,
      missing: 0,
      inserted: 0,
      notSealedYet: 0,
      doubts: [],
    });
  });

  it('is not adopted while conversions have not ended, and says which', async () => {
    for (const statement of UNFINISHED) await test.query`${sql.raw(statement)}`;
    await expect(migrate()).rejects.toThrow(
      /are not counted; events .*; destinations .*; deliveries are not partitioned .*; indexes are not built\. Update it first/,
    );
    expect(await test.query`select from kysely_migration`).toHaveLength(34);
  });

  it('is not adopted if an even earlier program created it', async () => {
    await test.query`delete from kysely_migration where name >= '0030'`;
    await expect(migrate()).rejects.toThrow(/belongs to an earlier version of xiq-sink\. Update it first/);
  });
});

const UNFINISHED = [
  `update arrivals_progress set old_before = now()`,
  `update log_state set old_xid = '1'`,
  `update destinations set cursor_position = null`,
  `drop index log_entries_ssid_prefix`,
  `do $$ declare part regclass; begin
    perform begin_storing();
    for part in select inhrelid from pg_inherits where inhparent = 'deliveries'::regclass
      and inhrelid <> 'deliveries_default'::regclass
    loop execute format('alter table deliveries detach partition %s', part); end loop;
    insert into deliveries_default (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
        duplicate_count, quarantined_count, source, message_type, origin)
      values (gen_random_uuid(), '2020-01-01', 1, 0, 0, 0, 0, 0, 's', 'AUDIT_LOG_ALL', 'webhook');
  end $$`,
];
