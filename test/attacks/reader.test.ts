import { rm } from 'node:fs/promises';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootstrapUrl, keepCredentials, readerUrl, serviceUrl } from '../../src/embedded/credentials.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { limitReaders, repairReaders } from '../../src/store/server/roles/limit-readers.ts';
import { findReaderChanges } from '../../src/store/server/roles/readers.ts';
import { auditRecord } from '../support/deliveries.ts';
import {
  endOfProgram,
  postDelivery,
  SECRET,
  startProgram,
  temporaryDirectory,
  type Program,
} from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

let directory: string;
let program: Program;
/** The superuser of the embedded database, which only the tests use. */
let admin: Db;
/** The service's role, and the reader's. */
let serviceAddress: string;
let url: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  program = await startProgram({ DATA_DIR: directory, WEBHOOK_SECRET: SECRET });
  const credentials = await keepCredentials(`${directory}/postgres`);
  serviceAddress = serviceUrl(credentials);
  url = readerUrl(credentials);
  admin = openDatabase(bootstrapUrl(credentials), () => undefined);
  await postDelivery(program, 'AUDIT_LOG_ALL', [auditRecord()]);
  await waitFor(async () => (await sql`select from audit_log`.execute(admin)).rows.length === 1);
});
afterAll(async () => {
  await admin.destroy();
  await program.end('SIGTERM');
  await rm(directory, { recursive: true, force: true });
});

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
async function refusalOf(connectionString: string, statement: string): Promise<string> {
  const client = new Client({ connectionString });
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
      ].map(async (query) => (await query.execute(admin)).rows),
    ),
  );

describe('a reader', () => {
  it('is refused everything but reading, over a connection of its own', async () => {
    const before = await trail();
    const accepted: string[] = [];
    for (const statement of FORBIDDEN) {
      if (!REFUSED.test(await refusalOf(url, statement))) accepted.push(statement);
    }
    process.stdout.write(
      `a direct connection of xiq_reader: ${accepted.length} of ${FORBIDDEN.length} statements accepted\n`,
    );
    expect(accepted).toEqual([]);
    expect(await trail()).toBe(before);
  });

  it('is refused everything but reading by xiq-sink sql, also after it has asked for another role', async () => {
    const before = await trail();
    const run = (statement: string) => endOfProgram({ DATA_DIR: directory }, 'sql', statement);
    const attacks = [
      "select pg_read_file('/etc/passwd') from set_config('role', 'none', true)",
      "select lo_create(0) from set_config('role', 'none', true) as a, set_config('transaction_read_only', 'off', true) as b",
      "copy (select set_config('role', 'none', true)) to program 'id'",
    ];
    const accepted: string[] = [];
    for (const statement of attacks) {
      const { code, stderr } = await run(statement);
      if (code === 0 || !REFUSED.test(stderr)) accepted.push(`${statement}: ${stderr}`);
    }
    expect(accepted).toEqual([]);
    const { stdout } = await run(
      "select set_config('role', 'none', true) as role, session_user, current_user",
    );
    expect(stdout.toString()).toMatch(/^none +xiq_reader +xiq_reader$/m);
    process.stdout.write("sql with set_config('role', 'none'): xiq_reader (before: superuser)\n");
    expect(await trail()).toBe(before);
  });

  it('has ten connections, and no other database', async () => {
    // Those of the tests before this one end when the server notices it.
    await waitFor(async () => {
      const sessions = await sql`select from pg_stat_activity where usename = 'xiq_reader'`.execute(admin);
      return sessions.rows.length === 0;
    });
    const clients = Array.from({ length: 11 }, () => new Client({ connectionString: url }));
    const results = await Promise.allSettled(clients.map((client) => client.connect()));
    const refused = results.filter(({ status }) => status === 'rejected').length;
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    expect(refused).toBe(1);
    for (const database of ['postgres', 'template1']) {
      const other = new URL(url);
      other.pathname = `/${database}`;
      expect(await refusalOf(other.href, 'select 1').catch(String)).toMatch(/permission denied for database/);
    }
  });

  it('that turns off its time-outs is ended by the service', async () => {
    const client = new Client({ connectionString: url, application_name: 'slow' });
    const ended = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    await client.query('begin; listen mine');
    const service = openDatabase(serviceAddress, () => undefined);
    try {
      expect(await limitReaders(service, 3_600)).toEqual([]);
      expect(await limitReaders(service, 0)).toMatchObject([{ application: 'slow' }]);
      expect(String(await ended)).toMatch(/terminat/);
    } finally {
      await service.destroy();
    }
  });

  it('that changes its own password and settings is put right', async () => {
    await using opened = new AsyncDisposableStack();
    const service = opened.adopt(
      openDatabase(serviceAddress, () => undefined),
      (db) => db.destroy(),
    );
    const before = await findReaderChanges(service);
    const reader = new Client({ connectionString: url });
    await reader.connect();
    for (const change of ['set statement_timeout = 0', 'set role = none', "password 'mine'"]) {
      await reader.query(`begin read write; alter role xiq_reader ${change}; commit`);
    }
    await reader.end();
    expect(await repairReaders(service, url)).toEqual([
      {
        login: 'xiq_reader',
        changes: ['it has role=none', 'it has statement_timeout=0', 'it lacks statement_timeout=5min'],
      },
      { login: 'xiq_reader', changes: ['its password differs from READER_DATABASE_URL'] },
    ]);
    const again = new Client({ connectionString: url });
    await again.connect();
    expect((await again.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '5min' }]);
    await again.end();
    expect([before, await repairReaders(service, url)]).toEqual([[], []]);
  });
});

describe('the trail', () => {
  const tables = [
    'audit_events',
    'location_observations',
    'log_entries',
    'alerts_received',
    'other_events',
    'deliveries',
    'quarantine',
  ];
  it('is safe from a superuser as a replica, unless a trigger is dropped or disabled', async () => {
    for (const statement of [
      ...[...tables, 'audit_events_default', 'operator_log'].map((table) => `truncate ${table}`),
      'delete from audit_events',
      'update audit_events set source = source',
      'delete from deliveries',
    ]) {
      const attempt = admin.transaction().execute(async (trx) => {
        await sql`set local session_replication_role = replica`.execute(trx);
        await sql.raw(statement).execute(trx);
      });
      await expect(attempt).rejects.toThrow(/stays as it was written/);
    }
  });
});
