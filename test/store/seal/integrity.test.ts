import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TABLE_OF } from '../../../src/events/message-types.ts';
import { migrateStore } from '../../../src/store/server/schema/migrate.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { createOwnedDatabase, type OwnedDatabase } from '../../support/database.ts';

const NOW = new Date('2031-11-15T00:00:00Z');
let test: OwnedDatabase;
beforeAll(async () => {
  test = await createOwnedDatabase();
  await migrateStore(test.db);
  await maintainPartitions(test.db, NOW, {});
  for (const table of EVENT_TABLES) {
    // A row in a month, and two in the default partition.
    for (const occurredAt of ['2031-11-11', '1999-09-09', '1988-08-08']) {
      await sql`
        insert into ${sql.id(table)}
          (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
        values (${occurredAt}, now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', '{}')
      `.execute(test.db);
    }
  }
  for (const receivedAt of ['2031-11-11', '1999-09-09']) {
    await sql`
      insert into deliveries
      values (gen_random_uuid(), ${receivedAt}, now(), 1, 1, 1, 1, 0, 0, 's', 'AUDIT_LOG_ALL', 'webhook')
    `.execute(test.db);
  }
});
afterAll(() => test.drop());

const EVENT_TABLES = Object.values(TABLE_OF);

const RELATIONS = [...EVENT_TABLES, 'deliveries'].flatMap((table) => [
  table,
  `${table}_2031_11`,
  `${table}_default`,
]);

const FORBIDDEN = [
  "update RELATION set source = 'x'",
  'update RELATION set received_at = now()',
  'delete from RELATION',
  'with gone as (delete from RELATION returning *) table gone',
  'truncate RELATION',
  'truncate RELATION restart identity cascade',
  "insert into RELATION table RELATION on conflict (KEY) do update set source = 'x'",
  "merge into RELATION using (values (1)) as other on true when matched then update set source = 'x'",
  'merge into RELATION using (values (1)) as other on true when matched then delete',
];

const keyOf = (relation: string) =>
  relation.startsWith('deliveries') ? 'delivery_id' : 'occurred_at, event_id';

const CASES = RELATIONS.flatMap((relation) =>
  // The table of deliveries as a whole has no key: its partitions have.
  FORBIDDEN.filter((statement) => relation !== 'deliveries' || !statement.includes('KEY')).map((statement) =>
    statement.replaceAll('RELATION', relation).replace('KEY', keyOf(relation)),
  ),
);

const run = (statement: string) => sql.raw(statement).execute(test.db);

describe('what is stored', () => {
  it.each(CASES)(
    'is safe from the owner, and from a superuser as a replica, who is told why: %s',
    async (statement) => {
      await expect(run(statement)).rejects.toThrow(/permission denied/);
      const asReplica = test.admin.transaction().execute(async (trx) => {
        await sql`set local session_replication_role = replica`.execute(trx);
        await sql.raw(statement).execute(trx);
      });
      await expect(asReplica).rejects.toThrow(/stays as it was written/);
    },
  );

  it('is safe from an owner who takes the privileges back', async () => {
    const attempt = test.db.transaction().execute(async (trx) => {
      await sql`grant all on audit_events_2031_11 to current_user`.execute(trx);
      await sql`delete from audit_events_2031_11`.execute(trx);
    });
    await expect(attempt).rejects.toThrow(/stays as it was written/);
  });

  it('can still be added to, where a key that is there already is passed over', async () => {
    const again = await run('insert into audit_events table audit_events on conflict do nothing');
    expect(again.numAffectedRows).toBe(0n);
  });

  it('can be dropped by retention, whole months only, by the owner', async () => {
    const later = new Date('2032-01-15T00:00:00Z');
    const { dropped } = await maintainPartitions(test.db, later, { location: 1 });
    // The older ones had no partition of their own.
    const months = ['1988_08', '1999_09', '2031_10', '2031_11'];
    expect(dropped).toEqual(months.map((month) => `location_observations_${month}`));
  });
});

it('a partition that replaces another is guarded as the first was, whose rows it keeps as they were', async () => {
  const rows = async (table: string) =>
    (
      await sql<{ partition: string; occurred_at: Date }>`
        select tableoid::regclass::text as partition, id, xid::text, event_id, delivery_id, received_at, occurred_at
        from ${sql.id(table)} order by id`.execute(test.db)
    ).rows;
  const before = await rows('log_entries');
  const partitions = ['log_entries_2031_11', 'log_entries_default', 'log_entries_default'];
  expect(before.map(({ partition }) => partition)).toEqual(partitions);
  await maintainPartitions(test.db, new Date('1999-09-01T00:00:00Z'), {});
  const after = before.map((row) =>
    String(row.occurred_at).includes('1999') ? { ...row, partition: 'log_entries_1999_09' } : row,
  );
  expect(await rows('log_entries')).toEqual(after);
  expect(after).not.toEqual(before);
  for (const relation of ['log_entries_1999_09', 'log_entries_default']) {
    await expect(run(`truncate ${relation}`)).rejects.toThrow(/permission denied/);
    await expect(run(`delete from ${relation}`)).rejects.toThrow(/permission denied/);
    const truncate = sql.raw(`truncate ${relation}`).execute(test.admin);
    await expect(truncate).rejects.toThrow(/stays as it was written/);
  }
});

it('the reading role may read the tables, without those of logins, and nothing else', async () => {
  const { rows } = await sql`
    select relname, privilege
    from pg_class, unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as privilege
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
      and (privilege <> 'select' or relname in ('accounts', 'sessions', 'access_tokens'))
      and (has_table_privilege('xiq_reader', pg_class.oid, privilege)
        or privilege in ('select', 'insert', 'update', 'references')
          and has_any_column_privilege('xiq_reader', pg_class.oid, privilege))`.execute(test.admin);
  expect(rows).toEqual([]);
});
