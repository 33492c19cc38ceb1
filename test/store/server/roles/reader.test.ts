import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/lib/errors.ts';
import { readOnlyQuery } from '../../../../src/store/server/read-only-query.ts';
import { useDatabase } from '../../../support/use-database.ts';

const test = useDatabase();

/** Statements that write, escalate or hurt others. Each must fail, however a reader connects. */
const FORBIDDEN = [
  // Other roles.
  'set role postgres',
  'set role xiq_owner',
  'set role xiq_sink',
  'set session authorization postgres',
  "select set_config('role', 'xiq_owner', false)",
  "select set_config('session_authorization', 'postgres', false)",
  "alter role xiq_reader password 'mine' superuser",
  'create role mine',
  'grant xiq_owner to xiq_reader',
  // The trail.
  'update audit_events set source = source',
  'delete from deliveries',
  'insert into operator_log (operator, via, action) values (null, null, null)',
  'truncate audit_events',
  'alter table audit_events disable trigger all',
  'drop table quarantine',
  'begin; lock table audit_events in share mode',
  'select * from audit_events for share',
  'set session_replication_role = replica',
  // Files and programs.
  "select pg_read_file('/etc/passwd')",
  "select pg_ls_dir('/')",
  "copy (select 1) to '/tmp/mine'",
  "copy (select 1) to program 'id'",
  "copy audit_events from program 'id'",
  "select lo_import('/etc/passwd')",
  'select * from pg_hba_file_rules',
  'create extension dblink',
  'create extension adminpack',
  "load 'dblink'",
  // Space.
  'create table mine (id int)',
  'create temp table mine as select 1',
  'create schema mine',
  'create view mine as select 1',
  'create function mine() returns int language sql as $$ select 1 $$',
  'create materialized view mine as select 1',
  'select lo_create(0)',
  'select lo_creat(-1)',
  "select lo_from_bytea(0, 'x')",
  "select pg_logical_emit_message(false, 'a', 'b')",
  "select nextval('events_id_seq')",
  'set temp_file_limit = -1',
  // Locks, ids, messages and signals that others wait for.
  'select pg_advisory_lock(1)',
  'select pg_try_advisory_lock(1)',
  'select pg_advisory_xact_lock_shared(1, 1)',
  'select pg_current_xact_id()',
  'select txid_current()',
  "select pg_notify('bullmq_jobs', 'x')",
  'select pg_terminate_backend(pid) from pg_stat_activity',
  'select pg_cancel_backend(pid) from pg_stat_activity',
  'do $$ begin end $$',
  // Secrets.
  'select * from pg_authid',
  'select * from bullmq.job',
  'alter system set fsync = off',
  'select pg_reload_conf()',
];

const REFUSED =
  /permission denied|must be|cannot set|only roles with|read-only|Only roles|not available|access to|is not a|could not access/i;

/** The refusal of a statement of a direct connection, which has turned off all that a session may turn off. */
async function refusalOf(statement: string): Promise<string> {
  const client = new Client({ connectionString: test.readerUrl });
  await client.connect();
  try {
    await client.query('set default_transaction_read_only = off');
    await client.query('set statement_timeout = 0');
    await client.query(statement);
    return 'accepted';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await client.end();
  }
}

/** What the attacks must not change. */
const trail = async () =>
  JSON.stringify(
    await Promise.all(
      [
        sql`select count(*), sum(hashtext(audit_log::text)) from audit_log`,
        sql`select rolname, rolsuper, rolcreaterole, rolcanlogin from pg_roles order by 1`,
        sql`select count(*) from pg_largeobject_metadata`,
        sql`select count(*) from pg_class`,
      ].map(async (query) => (await query.execute(test.db)).rows),
    ),
  );

describe('a reader', () => {
  it('is refused everything but reading, over a connection of its own', async () => {
    const before = await trail();
    const accepted: string[] = [];
    for (const statement of FORBIDDEN) {
      if (!REFUSED.test(await refusalOf(statement))) accepted.push(statement);
    }
    expect(accepted).toEqual([]);
    expect(await trail()).toBe(before);
    const limit = await test.query`select rolconnlimit from pg_roles where rolname = 'xiq_reader'`;
    expect(limit).toEqual([{ rolconnlimit: 10 }]);
  });

  it.each([
    'insert into quarantine select * from quarantine',
    "select pg_read_file('/etc/passwd') from set_config('role', 'none', true)",
    "select lo_create(0) from set_config('role', 'none', true) as a, set_config('transaction_read_only', 'off', true) as b",
    "copy (select set_config('role', 'none', true)) to program 'id'",
  ])('is refused by xiq-sink sql: %s', async (statement) => {
    await expect(readOnlyQuery(test.readerUrl, statement)).rejects.toThrow(REFUSED);
  });

  it('cannot smuggle a second statement behind a harmless one', async () => {
    const attempt = readOnlyQuery(test.readerUrl, 'select 1; reset role; delete from deliveries');
    await expect(attempt).rejects.toThrow(/multiple commands/);
  });

  it('gets values as Postgres prints them, and which columns are arrays', async () => {
    let isClosed = false;
    const statement = `select 9007199254740993 as n, array['a']::text[] as list, null::text as none, '1 2'::int2vector as vector`;
    const prepare = async () => ({
      statement,
      archived: { rows: 1, milliseconds: 2 },
      [Symbol.asyncDispose]: async () => void (isClosed = true),
    });
    expect(await readOnlyQuery(test.readerUrl, 'select', prepare)).toEqual({
      columns: [
        { name: 'n', typeOid: 20, isArray: false },
        { name: 'list', typeOid: 25, isArray: true },
        { name: 'none', typeOid: 25, isArray: false },
        { name: 'vector', typeOid: 22, isArray: false },
      ],
      rows: [['9007199254740993', '{a}', null, '1 2']],
      archived: { rows: 1, milliseconds: 2 },
    });
    expect(isClosed).toBe(true);
    expect(await readOnlyQuery(test.readerUrl, 'select 1 as one')).toMatchObject({ rows: [['1']] });
  });

  it.each([
    ['select user_nam from audit_log', /user_nam.*\. Perhaps you meant/],
    ['select from nowhere', /nowhere.*\. docs\/tables\.md/],
    ['select unknown_column_of_no_table', /docs\/tables\.md/],
    ['select 1 / 0', /^division by zero$/],
  ])('is helped on after %s', async (statement, help) => {
    await expect(readOnlyQuery(test.readerUrl, statement)).rejects.toThrow(help);
  });

  it('is no other login', async () => {
    await expect(readOnlyQuery(test.databaseUrl, 'select 1')).rejects.toThrow(UsageError);
  });
});
