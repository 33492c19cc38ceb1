import { sql } from 'kysely';
import { MIGRATION_ADVISORY_LOCK_KEY } from 'bullmq';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migrateQueue } from '../../../src/queue/postgres-engine.ts';
import { migrateStore } from '../../../src/store/server/schema/migrate.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { describeSession } from '../../../src/store/server/server-sessions.ts';
import { findTableUsers } from '../../../src/store/server/waits.ts';
import { insertAudits } from '../../support/stored-rows.ts';
import { useDatabase } from '../../support/use-database.ts';

const NOW = new Date();
const test = useDatabase();
let reader: Client;
beforeAll(async () => {
  reader = new Client({ connectionString: test.adminUrl, application_name: 'reader' });
  await reader.connect();
  await reader.query('set role xiq_reader');
});
afterEach(() => reader.query('rollback'));
afterAll(() => reader.end());

const msOf = async (work: () => Promise<unknown>) => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

const insert = (occurredAt: string) => insertAudits(test.db, { occurredAt });

describe('a long select', () => {
  it('delays retention, which names it and comes back, and nobody else', async () => {
    await maintainPartitions(test.db, new Date('2020-03-10T00:00:00Z'), {});
    await insert('2020-03-05T05:05:05Z');
    await reader.query('begin');
    await reader.query('select count(*) from audit_events');
    const keep = { audit: 12 };
    const maintaining = maintainPartitions(test.db, NOW, keep);
    const storing = await msOf(() => insert(NOW.toISOString()));
    expect(storing).toBeLessThan(2_000);
    const { dropped, blocked } = await maintaining;
    expect(dropped).toEqual([]);
    expect(blocked.map(({ action, partition }) => `${action} ${partition}`)).toContain(
      'drop audit_events_2020_03',
    );
    // What stores meanwhile has the table for a moment, too.
    expect(blocked[0]?.by.map(describeSession)).toContainEqual(
      expect.stringMatching(/^pid \d+ \(reader, user \w+\), in a transaction for \d+ s$/),
    );
    expect(await findTableUsers(test.db, ['audit_events'])).toEqual([]);

    await reader.query('rollback');
    const after = await maintainPartitions(test.db, NOW, keep);
    expect(after.blocked).toEqual([]);
    expect(after.dropped).toContain('audit_events_2020_03');
  });

  it('delays the creation of a partition alone: the others are created', async () => {
    await reader.query('begin');
    await reader.query('select count(*) from audit_events');
    const { created, blocked } = await maintainPartitions(test.db, new Date('2021-06-10T00:00:00Z'), {});
    expect(created.filter((name) => name.startsWith('log_entries'))).toHaveLength(5);
    // The other months of the table are left for the next round: each would wait for the same lock.
    expect(blocked.map(({ partition }) => partition)).toEqual(['audit_events_2021_05']);
  });
});

/** In a database whose roles no superuser has prepared, every role may take advisory locks. */
describe('advisory locks of another session', () => {
  let other: Client;
  beforeAll(async () => {
    other = new Client({ connectionString: test.databaseUrl, application_name: 'other' });
    await other.connect();
  });
  afterEach(() => other.query('rollback'));
  afterAll(() => other.end());

  it('delay neither maintenance nor migrations that have nothing to do', async () => {
    await other.query('begin');
    const keys = [0x78697169, 0x78697170, 0x78697173, '3853314791062309107'];
    await other.query('select pg_advisory_xact_lock(key) from unnest($1::bigint[]) as key', [keys]);
    await other.query(`select pg_advisory_xact_lock($1, hashtext('bullmq'))`, [MIGRATION_ADVISORY_LOCK_KEY]);
    const ms = await msOf(async () => {
      expect(await migrateStore(test.db)).toEqual([]);
      await migrateQueue(test.databaseUrl);
      await maintainPartitions(test.db, NOW, {});
    });
    expect(ms).toBeLessThan(5_000);
  });

  it('delay a migration of the queue for 5 s, and then the error names it', async () => {
    await test.db.schema.dropSchema('bullmq').cascade().execute();
    await other.query('begin');
    await other.query(`select pg_advisory_xact_lock($1, hashtext('bullmq'))`, [MIGRATION_ADVISORY_LOCK_KEY]);
    await expect(migrateQueue(test.databaseUrl)).rejects.toThrow(
      /^the migration of the queue waits for a lock of pid \d+ \(other, user \w+\)$/,
    );
    await other.query('rollback');
    await migrateQueue(test.databaseUrl);
  });
});

describe('a migration', () => {
  it('waits for a table in use for 2 s, and then the error names the session', async () => {
    const other = new Client({ connectionString: test.databaseUrl, application_name: 'other' });
    await other.connect();
    await other.query('begin');
    await other.query('lock table kysely_migration');
    await expect(migrateStore(test.db)).rejects.toThrow(
      /^migrations wait for tables that others use: pid \d+ \(other, user \w+\), in a transaction for \d s/,
    );
    await other.end();
    expect(await migrateStore(test.db)).toEqual([]);
  });

  it('is applied once by processes that start at the same time, on an empty database too', async () => {
    const names = ['kysely_migration', 'kysely_migration_lock'];
    await test.query`drop schema public cascade`;
    await test.query`create schema public`;
    const applied = await Promise.all([1, 2, 3].map(() => migrateStore(test.db)));
    expect(applied.map((list) => list.length > 0).filter(Boolean)).toHaveLength(1);
    for (const name of names) await test.query`select from ${sql.id(name)}`;
  });
});
