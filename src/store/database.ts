import { Kysely, PostgresDialect, sql } from 'kysely';
import type { Generated, GeneratedAlways, Transaction } from 'kysely';
import { Pool } from 'pg';
import type { MessageType, Origin, SecretForm } from '../domain.ts';

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
    message_type: MessageType;
    origin: Origin;
    secret_form: SecretForm | null;
  };
  quarantine: {
    quarantine_id: string;
    delivery_id: string;
    received_at: Date;
    source: string;
    message_type: MessageType;
    reason: string;
    content: Buffer;
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

/** Opens the database. Connections are made when they are needed; `destroy()` closes them. */
export function openDatabase(databaseUrl: string, onError: (error: Error) => void): Db {
  const pool = new Pool({
    connectionString: databaseUrl,
    application_name: 'xiq-sink',
    max: 5,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
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
