import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { classifyFailure } from '../../../src/store/server/failure.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { insertAudits } from '../../support/stored-rows.ts';

const test = useDatabase();

const insert = (occurredAt: string) => insertAudits(test.db, { occurredAt });

const partitions = async () => {
  const { rows } = await sql<{ partition: string; n: number }>`
    select tableoid::regclass::text as partition, count(*)::int as n from audit_events group by 1 order by 1`.execute(
    test.db,
  );
  return Object.fromEntries(rows.map(({ partition, n }) => [partition, n]));
};

const constraints = async () => {
  const { rows } = await sql<{ name: string }>`
    select conname as name from pg_constraint
    where conrelid in (select relid from pg_partition_tree('audit_events')) and contype = 'c'`.execute(
    test.db,
  );
  return rows.map(({ name }) => name);
};

describe('a month whose default partition has rows', () => {
  it('gets its partition without a look at these rows under a lock, and they stay in their file', async () => {
    for (const time of ['1999-09-09', '2050-05-05']) await insert(time);
    const file = sql`select pg_relation_filenode('audit_events_default') as file`;
    const before = await file.execute(test.db);
    const { created, inDefault } = await maintainPartitions(test.db, new Date('2031-03-10T00:00:00Z'), {});
    expect(created).toContain('audit_events_2031_03');
    expect(inDefault).toMatchObject([{ partition: 'audit_events_default', rows: 2 }]);
    expect((await file.execute(test.db)).rows).toEqual(before.rows);
    expect(await constraints()).toEqual([]);
  });

  it('takes its rows over, and new rows wait until then instead of being refused', async () => {
    await insert('2033-03-03');
    const other = new Client({ connectionString: test.adminUrl });
    await other.connect();
    await other.query('set role xiq_owner');
    await other.query(
      'alter table audit_events_default add constraint wait_for_partition check (false) not valid',
    );
    const refused: unknown = await insert('2033-03-04').catch((error: unknown) => error);
    expect(classifyFailure(refused)).toBe('statement time-out');
    await other.end();
    // That was left by a process that ended: the next one begins again, and lets rows in.
    const { created } = await maintainPartitions(test.db, new Date('2033-03-10T00:00:00Z'), {});
    expect(created).toContain('audit_events_2033_03');
    expect(await constraints()).toEqual([]);
    await insert('2033-03-04');
    await insert('1999-09-10');
    expect(await partitions()).toEqual({ audit_events_default: 3, audit_events_2033_03: 2 });
    const { rows } = await sql`select from pg_class where relname ~ '_new_(month|default)$'`.execute(test.db);
    expect(rows).toEqual([]);
  });

  it('lets rows in again when a process ended whose month another one has created', async () => {
    await sql`alter table audit_events_default add constraint wait_for_partition check (false) not valid`.execute(
      test.db,
    );
    await maintainPartitions(test.db, new Date('2033-03-10T00:00:00Z'), {});
    await insert('1999-09-11');
    expect(await partitions()).toMatchObject({ audit_events_default: 4 });
  });

  it('waits for another process that is at work, and says so', async () => {
    const other = new Client({ connectionString: test.databaseUrl });
    await other.connect();
    await other.query('begin');
    await other.query("select from locks where name = 'default partitions' for update");
    const now = new Date('2034-03-10T00:00:00Z');
    const { blocked } = await maintainPartitions(test.db, now, {});
    expect(blocked.map(({ partition }) => partition)).toContain('audit_events_2034_02');
    await other.query('rollback');
    await other.end();
    expect((await maintainPartitions(test.db, now, {})).blocked).toEqual([]);
  });
});

describe('readers of several tables of a change', () => {
  it('delay storing for as long as one change waits, which is then undone as a whole', async () => {
    await maintainPartitions(test.db, new Date('2020-03-10T00:00:00Z'), {});
    const readers: Client[] = [];
    const begin = async (table: string) => {
      const reader = new Client({ connectionString: test.adminUrl });
      readers.push(reader);
      await reader.connect();
      await reader.query('begin');
      await reader.query(`select from ${table}`);
      return reader;
    };
    // The first lock is free after 200 ms, and the second is not.
    const first = await begin('audit_events_default');
    await begin('audit_events_2020_03');
    const dropping = maintainPartitions(test.db, new Date(), { audit: 12 });
    await waitFor(async () => {
      const { rows } = await sql`
        select from pg_locks where mode = 'AccessExclusiveLock' and not granted`.execute(test.db);
      return rows.length > 0;
    });
    await first.query('rollback');
    const began = performance.now();
    await insert('2033-03-05');
    expect(performance.now() - began).toBeLessThan(1_500);
    const { blocked } = await dropping;
    expect(blocked.map(({ partition }) => partition)).toContain('audit_events_2020_03');
    for (const reader of readers) await reader.end();
    const { dropped } = await maintainPartitions(test.db, new Date(), { audit: 12 });
    expect(dropped).toContain('audit_events_2020_03');
    const { rows } = await sql`select from pg_class where relname like '%_detached'`.execute(test.db);
    expect(rows).toEqual([]);
  });
});
