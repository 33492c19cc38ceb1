import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
import type { MessageType, Origin, SecretForm, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import type { AccountRole } from '../permissions.ts';

/** How a quarantined item was resolved. */
export type Resolution = 'replayed' | 'discarded';

/** Open items, items resolved in one of the ways, or all items. */
export const QUARANTINE_STATES = ['open', 'replayed', 'discarded', 'all'] as const;

export type QuarantineState = (typeof QUARANTINE_STATES)[number];

/** The state of a destination: `refused` after it rejected our credentials, `paused` by a person. */
export type DestinationState = 'running' | 'paused' | 'refused';

/** What the operator log records: changes, exports, access, and looks at the data of a person. */
export const OPERATOR_ACTIONS = [
  'console.login',
  'console.logout',
  'events.export',
  'proof.export',
  'events.backfill',
  'events.erase',
  'certificate.make',
  'integrity.verify',
  'sql.query',
  'report.send',
  'timeline.read',
  'search.save',
  'search.delete',
  'search.alert',
  'quarantine.replay',
  'quarantine.discard',
  'destination.test',
  'destination.pause',
  'destination.resume',
  'destination.rewind',
  'destination.forget',
  'destination.replay',
  'subscriptions.apply',
  'subscriptions.remove',
  'access.add',
  'access.change',
  'access.remove',
  'access.token',
  'access.revoke',
  'service.start',
  'settings.reload',
  'source.add',
  'source.rotate',
  'source.drop-old',
  'source.disable',
  'source.reencrypt',
  'retention.drop',
  'database.backup',
  'database.restore',
  'database.move',
] as const;

export type OperatorActionName = (typeof OPERATOR_ACTIONS)[number];

/** The rows of each table as Postgres returns them: bigint as text, so that no digit is lost; time as Date. */
export interface Tables {
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
    refused_count: number;
    source: string;
    message_type: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
    origin: Origin;
    secret_form: SecretForm | null;
    sent_type: Generated<string | null>;
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
    sent_type: Generated<string | null>;
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
    state: Generated<DestinationState>;
    cursor_position: Generated<string | null>;
    cursor_xid: Generated<string | null>;
    cursor_id: Generated<string | null>;
    generation: Generated<string>;
    sent_count: Generated<string>;
    lease_holder: string | null;
    lease_until: Date | null;
    last_sent_at: Date | null;
    last_error: string | null;
    last_error_at: Date | null;
    created_at: Generated<Date>;
    rejected_in_row: Generated<number>;
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
    via: 'console' | 'api' | 'command' | 'system';
    action: OperatorActionName;
    subject: string | null;
    details: ColumnType<Readonly<Record<string, unknown>>, string, never>;
    ended_at: Date | null;
    outcome: 'done' | 'failed' | null;
    result: ColumnType<Readonly<Record<string, unknown>> | null, string | null, string>;
  };
  locks: { name: string };
  sources: {
    name: string;
    /** Checked by the reader: it contains references to secrets, or encrypted ones. */
    definition: ColumnType<unknown, string, string>;
    old_secrets_until: Date | null;
    revision: Generated<string>;
    created_at: Generated<Date>;
    changed_at: Generated<Date>;
    disabled_at: Date | null;
  };
  accounts: {
    name: string;
    role: AccountRole;
    sources: string[] | null;
    password_hash: string | null;
    totp_secret: string | null;
    totp_last_step: string | null;
    /** Issuer and subject of OpenID Connect, separated by a space. */
    identity: string | null;
    created_at: Generated<Date>;
    disabled_at: Date | null;
  };
  sessions: {
    digest: Buffer;
    account: string | null;
    created_at: Generated<Date>;
    expires_at: Date;
  };
  access_tokens: {
    id: GeneratedAlways<string>;
    account: string;
    digest: Buffer;
    label: string;
    created_at: Generated<Date>;
    expires_at: Date;
    last_used_at: Date | null;
    revoked_at: Date | null;
  };
  processes: {
    process_id: string;
    role: string;
    host: string;
    pid: number;
    version: string;
    started_at: Date;
    seen_at: Generated<Date>;
    /** In the format of the version that wrote it. */
    figures: ColumnType<unknown, string, string>;
  };
  /** The view over the families' tables. */
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
