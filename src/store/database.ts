import { Socket } from 'node:net';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { ColumnType, Generated, GeneratedAlways, Transaction } from 'kysely';
import { Pool } from 'pg';
import type { PoolConfig } from 'pg';
import type { MessageType, Origin, SecretForm, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import { OutageError } from '../errors.ts';
import type { OperatorActionName } from './operator-log.ts';

/** What became of something quarantined. */
export type Resolution = 'replayed' | 'discarded';

/** Rows as Postgres gives them: bigint as text (no digit is lost), time as Date. */
export interface Database {
  deliveries: {
    delivery_id: string;
    received_at: Date;
    stored_at: Generated<Date>;
    body_bytes: number;
    record_count: number;
    expected_count: number;
    event_count: number;
    duplicate_count: number;
    quarantined_count: number;
    source: string;
    message_type: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
    origin: Origin;
    secret_form: SecretForm | null;
    xid: Generated<string | null>;
  };
  quarantine: {
    quarantine_id: string;
    delivery_id: string;
    received_at: Date;
    source: string;
    message_type: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
    reason: string;
    content: Buffer;
    encoding: string | null;
    twins_before: number;
    resolution: Resolution | null;
    resolved_at: Date | null;
    replay_delivery_id: string | null;
    discarded_bytes: number | null;
  };
  subscriptions: {
    id: GeneratedAlways<string>;
    subscription_id: string | null;
    source: string;
    message_type: string;
    url: string;
    application: string;
    status: string;
    secret_digest: string | null;
    created_at: Generated<Date>;
    updated_at: Generated<Date>;
  };
  destinations: {
    name: string;
    state: Generated<'running' | 'paused' | 'refused'>;
    cursor_xid: string;
    cursor_id: string;
    generation: Generated<string>;
    sent_count: Generated<string>;
    lease_holder: string | null;
    lease_until: Date | null;
    last_sent_at: Date | null;
    last_error: string | null;
    last_error_at: Date | null;
    created_at: Generated<Date>;
  };
  rejected_events: {
    destination: string;
    event_id: string;
    occurred_at: Date;
    message_type: MessageType;
    reason: string;
    rejected_at: Generated<Date>;
    replayed_at: Date | null;
  };
  operator_log: {
    id: GeneratedAlways<string>;
    began_at: Generated<Date>;
    operator: string;
    via: 'console' | 'api' | 'command';
    action: OperatorActionName;
    subject: string | null;
    details: ColumnType<Readonly<Record<string, unknown>>, string, never>;
    ended_at: Date | null;
    outcome: 'done' | 'failed' | null;
    result: ColumnType<Readonly<Record<string, unknown>> | null, string | null, string>;
  };
  processes: {
    process_id: string;
    role: string;
    host: string;
    pid: number;
    version: string;
    started_at: Date;
    seen_at: Generated<Date>;
    /** As the process that wrote it saw fit. */
    figures: ColumnType<unknown, string, string>;
  };
  /** The view over the three families' tables. */
  events: {
    id: string;
    event_id: string;
    delivery_id: string;
    source: string;
    message_type: MessageType;
    occurred_at: Date;
    received_at: Date;
    owner_id: string | null;
    org_id: string | null;
    origin: Origin;
    family: string;
    user_name: string | null;
    code: string | null;
    client_mac: string | null;
    ap_mac: string | null;
    description: string | null;
    payload: unknown;
    xid: string;
  };
}

/** The database, or one transaction in it. */
export type Db = Kysely<Database>;
export type Trx = Transaction<Database>;

type OnError = (error: Error) => void;

/** Opens the database. Connections are made when they are needed; `destroy()` closes them. */
export function openDatabase(databaseUrl: string, onError: OnError): Db {
  return openPool({ connectionString: databaseUrl, max: 5 }, onError);
}

/** When a worker gives a connection up, in milliseconds. */
export interface StoringLimits {
  /** The server ends a statement that takes longer: somebody holds a lock. */
  readonly statementMs: number;
  /** Nothing was heard for so long, not even that: the network drops packets, which TCP bears for a quarter of an hour. */
  readonly silenceMs: number;
}

const STORING_LIMITS: StoringLimits = { statementMs: 45_000, silenceMs: 60_000 };

/** What storing and forwarding each take of the server's connections. */
const STORING_CONNECTIONS = 2;
const FORWARDING_CONNECTIONS = 4;

/** What the console takes: exports and people who look at the same time share them. */
const CONSOLE_CONNECTIONS = 6;

/** Enough for questions that are asked side by side. */
const INSPECTING_CONNECTIONS = 4;

/**
 * Opens the database for storing, which can always be done again: nothing waits for longer than these limits. Not
 * for migrations and the maintenance of partitions, which may take long.
 */
export function openStoringDatabase(
  databaseUrl: string,
  onError: OnError,
  limits: StoringLimits = STORING_LIMITS,
): Db {
  return openLimited(databaseUrl, onError, STORING_CONNECTIONS, limits);
}

/** Opens the database for forwarding, under the limits of storing: it, too, can always be done again. */
export function openForwardingDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, FORWARDING_CONNECTIONS, STORING_LIMITS);
}

/** When a report that a process lives is given up: the next one follows soon. */
const REPORTING_LIMITS: StoringLimits = { statementMs: 5_000, silenceMs: 20_000 };

/** Opens the database for the reports of a process: one connection, which nothing else waits for. */
export function openReportingDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, 1, REPORTING_LIMITS);
}

/** Opens the database for the console, under the limits of storing: no page waits for longer. */
export function openConsoleDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, CONSOLE_CONNECTIONS, STORING_LIMITS);
}

/** Opens the database for a person who waits for the answer: a query takes no longer than this, in milliseconds. */
export function openInspectingDatabase(databaseUrl: string, onError: OnError, limitMs: number): Db {
  return openLimited(databaseUrl, onError, INSPECTING_CONNECTIONS, {
    statementMs: limitMs,
    silenceMs: limitMs,
  });
}

function openLimited(
  databaseUrl: string,
  onError: OnError,
  max: number,
  { statementMs, silenceMs }: StoringLimits,
): Db {
  const config = {
    connectionString: databaseUrl,
    max,
    statement_timeout: statementMs,
    // The server, too, lets go of the rows of a worker that it does not hear from.
    idle_in_transaction_session_timeout: silenceMs,
    // A server that became a standby keeps its connections: the next ones find the one that took over.
    maxLifetimeSeconds: 30,
    stream: () => createSocket(silenceMs),
  };
  return openPool(config, onError);
}

/** A socket that ends once nothing has passed for so long: all that waits for an answer on it fails. */
function createSocket(silenceMs: number): Socket {
  const socket = new Socket();
  socket.setTimeout(silenceMs, () => {
    socket.destroy(new OutageError(`the database was silent for ${silenceMs} ms`));
  });
  return socket;
}

function openPool(config: PoolConfig, onError: OnError): Db {
  const pool = new Pool({
    ...config,
    application_name: 'xiq-sink',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // A connection that breaks between two queries has nobody to tell; without listeners it would end the program.
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}

/** Rejects when the database does not answer. */
export async function checkDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db);
}
