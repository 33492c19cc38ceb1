import { randomBytes } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import { pino } from 'pino';
import { inject } from 'vitest';
import { query } from './query.ts';
import { READER_ROLE, SERVICE_ROLE, withRole } from './roles.ts';
import { describeError } from '../../src/lib/errors.ts';
import { createSequencer } from '../../src/seal/sequencer.ts';
import { repeat } from '../../src/lib/repeat.ts';
import { withClient } from '../../src/store/server/postgres.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import type { Db, Trx } from '../../src/store/server/database.ts';

/** Of the server that this worker's tests have for themselves, a database with rights to create others. */
export function serverUrl(): string {
  const urls = inject('adminUrls');
  const [first = ''] = urls;
  return urls[Number(process.env['VITEST_POOL_ID'] ?? 1) % urls.length] ?? first;
}

/** A database of one test file's own, cloned from the migrated template in milliseconds. */
export interface TestDatabase {
  /** Connection string of the service's role. */
  readonly databaseUrl: string;
  /** Connection string of `xiq_reader`. */
  readonly readerUrl: string;
  /** Connection string of the superuser. */
  readonly adminUrl: string;
  /** Connections of the superuser. */
  readonly db: Db;
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Every stored event enters the log, as while the service runs. */
  readonly logs?: boolean;
  /** It begins with the events of `storeVariedEvents`. */
  readonly isVaried?: boolean;
}

export async function createTestDatabase({
  logs = false,
  isVaried = false,
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `xiq_sink_test_${randomBytes(6).toString('hex')}`;
  const template = isVaried ? await variedTemplate() : inject('templateName');
  const clone = `create database ${name} template ${template}`;
  // Half the processor time of the default, which writes all of it to the write-ahead log. Postgres 14 has only this one,
  // and no option for it.
  await query(serverUrl(), `${clone} strategy file_copy`).catch(() => query(serverUrl(), clone));
  // The rights on a database are not cloned.
  await query(
    serverUrl(),
    `revoke temporary on database ${name} from public; grant temporary, create on database ${name} to ${SERVICE_ROLE}`,
  );
  const url = urlOf(name);
  const db = openDatabase(url.href, () => undefined);
  const logging = logs ? extendContinuously(url.href) : undefined;
  return {
    databaseUrl: withRole(url.href, SERVICE_ROLE),
    readerUrl: withRole(url.href, READER_ROLE),
    adminUrl: url.href,
    db,
    async drop() {
      await logging?.stop();
      await db.destroy();
      await query(serverUrl(), `drop database ${name} with (force)`);
    },
  };
}

/** The first file that needs this template makes it, while others wait: it takes a second. */
async function variedTemplate(): Promise<string> {
  const template = inject('templateName');
  const name = `${template}_varied`;
  return withClient(serverUrl(), async (client) => {
    await client.query('select pg_advisory_lock(1)');
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount === 1) return name;
    await client.query(`drop database if exists ${name}_new with (force)`);
    await client.query(`create database ${name}_new template ${template}`);
    // What it needs is of no use to other tests.
    const { storeVariedEvents } = await import('../store/events/varied-events.ts');
    const db = openDatabase(urlOf(`${name}_new`).href, () => undefined);
    await storeVariedEvents(db);
    await db.destroy();
    await client.query(`alter database ${name}_new rename to ${name}`);
    return name;
  });
}

function extendContinuously(url: string): { stop(): Promise<void> } {
  const db = openDatabase(withRole(url, SERVICE_ROLE), () => undefined);
  const sequencer = createSequencer(db, pino({ level: 'silent' }));
  const extending = repeat({
    pauseMs: 20,
    // Without its rests: tests store by other ways, too.
    work: async () => void (await sequencer.extend()),
    onError: (error) => process.emitWarning(`the log was not extended: ${describeError(error)}`),
  });
  return {
    async stop() {
      await extending.stop();
      await db.destroy();
    },
  };
}

/** An empty database, and the role that owns it: no superuser, as the owner at a provider of Postgres is none. */
export interface OwnedDatabase {
  /** Connection string of the owner. */
  readonly databaseUrl: string;
  /** Connections of the owner. */
  readonly db: Db;
  /** Connections of the superuser. */
  readonly admin: Db;
  drop(): Promise<void>;
}

/** Creates a database on the tests' server, or on another, for a role of its own that may create roles. */
export async function createOwnedDatabase(server = serverUrl()): Promise<OwnedDatabase> {
  const name = `xiq_sink_owned_${randomBytes(6).toString('hex')}`;
  await query(server, `create role ${name} login createrole password '${name}'`);
  await query(server, `create database ${name} owner ${name}`);
  const url = urlOf(name, server);
  const admin = openDatabase(url.href, () => undefined);
  url.username = name;
  url.password = name;
  const db = openDatabase(url.href, () => undefined);
  return {
    databaseUrl: url.href,
    db,
    admin,
    async drop() {
      await db.destroy();
      await admin.destroy();
      await query(server, `drop database ${name} with (force)`);
      await query(server, `drop role ${name}`);
    },
  };
}

/** A statement, or work that takes more than statements. */
export type Change = RawBuilder<unknown> | ((trx: Trx) => Promise<unknown>);

/** Does what the tables refuse: the tests' role is a superuser, and replaces what the triggers call until it is done. */
export async function unguarded(db: Db, ...changes: readonly Change[]): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ name: string; definition: string }>`
      select proname as name, pg_get_functiondef(oid) as definition from pg_proc
        where pronamespace = 'public'::regnamespace and proname in ('refuse_change', 'resolve_only', 'end_once', 'queue_statement', 'queue_quarters')
    `.execute(trx);
    for (const { name } of rows) {
      await sql`
        create or replace function ${sql.id(name)}() returns trigger language plpgsql as $$
        begin
          return case tg_op when 'DELETE' then old else new end;
        end $$`.execute(trx);
    }
    for (const change of changes) await (typeof change === 'function' ? change(trx) : change.execute(trx));
    for (const { definition } of rows) await sql.raw(definition).execute(trx);
  });
}

const TABLES =
  'audit_events location_observations log_entries alerts_received other_events deliveries quarantine log_tiles log_seals \
log_hashes log_salts log_checkpoints log_statements log_queue log_delivery_queue log_anchors log_timestamps erasures \
log_verifications log_verified_events saved_searches devices locations organizations people seen seen_days'.split(
    ' ',
  );

/** Empties everything that deliveries are stored in. To truncate it took longer: each partition and index is a new file. */
export async function emptyTables(db: Db): Promise<void> {
  await unguarded(db, async (trx) => {
    for (const table of TABLES) await sql`delete from ${sql.table(table)}`.execute(trx);
  });
  await sql`update log_state set first_position = next_position`.execute(db);
  await sql`update seen_progress set first_position = log_state.next_position,
    next_position = log_state.next_position from log_state`.execute(db);
  await sql`update log_seal_state set size = 0, first_position = log_state.next_position,
    next_position = log_state.next_position from log_state`.execute(db);
}

function urlOf(database: string, server = serverUrl()): URL {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url;
}
