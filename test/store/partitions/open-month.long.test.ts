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
  const rows = await test.query<{ partition: string; n: number }>`
    select tableoid::regclass::text as partition, count(*)::int as n from audit_events group by 1 order by 1`;
  return Object.fromEntries(rows.map(({ partition, n }) => [partition, n]));
};

const constraints = async () => {
  const rows = await test.query<{ name: string }>`
    select conname as name from pg_constraint
    where conrelid in (select relid from pg_partition_tree('audit_events')) and contype = 'c'`;
  return rows.map(({ name }) => name);
};

describe('a month whose default partition has rows', () => {
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
    expect(await partitions()).toEqual({ audit_events_default: 1, audit_events_2033_03: 2 });
    const rows = await test.query`select from pg_class where relname ~ '_new_(month|default)$'`;
    expect(rows).toEqual([]);
  });

  it('lets rows in again when a process ended whose month another one has created', async () => {
    await test.query`alter table audit_events_default add constraint wait_for_partition check (false) not valid`;
    await maintainPartitions(test.db, new Date('2033-03-10T00:00:00Z'), {});
    await insert('1999-09-11');
    expect(await partitions()).toMatchObject({ audit_events_default: 2 });
  });
});

it('readers of several tables of a change delay storing for as long as one change waits, which is then undone as a whole', async () => {
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
    const rows = await test.query`
        select from pg_locks where mode = 'AccessExclusiveLock' and not granted`;
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
  const rows = await test.query`select from pg_class where relname like '%_detached'`;
  expect(rows).toEqual([]);
});
