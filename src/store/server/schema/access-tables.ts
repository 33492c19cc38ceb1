import type { GeneratedAlways } from 'kysely';
import type { AccountRole } from '../../access/permissions.ts';
import type { Generated, Int8, Json, Timestamp } from './column-types.ts';

/** What the operator log records: changes, exports, access, and looks at the data of a person. */
export const OPERATOR_ACTIONS = [
  'console.login',
  'console.logout',
  'events.export',
  'proof.export',
  'events.backfill',
  'events.erase',
  'certificate.make',
  'integrity.accept',
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

/** Accounts, how they log in, and what operators do. */
export interface AccessTables {
  accounts: {
    name: string;
    role: AccountRole;
    sources: string[] | null;
    password_hash: string | null;
    totp_secret: string | null;
    totp_last_step: Int8 | null;
    identity: string | null;
    created_at: Generated<Timestamp>;
    disabled_at: Timestamp | null;
  };
  sessions: {
    digest: Buffer;
    account: string | null;
    created_at: Generated<Timestamp>;
    expires_at: Timestamp;
  };
  access_tokens: {
    id: GeneratedAlways<string>;
    account: string;
    digest: Buffer;
    label: string;
    created_at: Generated<Timestamp>;
    expires_at: Timestamp;
    last_used_at: Timestamp | null;
    revoked_at: Timestamp | null;
  };
  operator_log: {
    id: GeneratedAlways<string>;
    began_at: Generated<Timestamp>;
    operator: string;
    via: 'console' | 'api' | 'command' | 'system';
    action: OperatorActionName;
    subject: string | null;
    details: Generated<Json<Readonly<Record<string, unknown>>>>;
    ended_at: Timestamp | null;
    outcome: 'done' | 'failed' | null;
    result: Json<Readonly<Record<string, unknown>>> | null;
  };
}
