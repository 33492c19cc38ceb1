import type { GeneratedAlways } from 'kysely';
import type { AccountRole } from '../../access/permissions.ts';
import type { Generated, Int8, Json, Timestamp } from './column-types.ts';

/**
 * What the operator log records: changes, exports, access, and looks at the data of a person. Each with the words for it,
 * which follow the name of the operator.
 */
export const OPERATOR_ACTIONS = {
  'console.login': 'logged in',
  'console.logout': 'logged out',
  'events.export': 'exported events',
  'proof.export': 'exported events with proofs',
  'events.backfill': 'fetched missing events from the cloud',
  'events.erase': 'erased events',
  'certificate.make': 'created a certificate',
  'integrity.accept': 'continued from a database that lacks known events',
  'integrity.verify': 'verified the stored rows',
  'sql.query': 'ran an SQL statement',
  'report.send': 'sent a scheduled report',
  'timeline.read': 'viewed the timeline of a user or client',
  'assistant.ask': 'queried by an assistant',
  'search.save': 'saved a search',
  'search.delete': 'deleted a saved search',
  'search.alert': 'switched the alerts of a saved search on or off',
  'quarantine.replay': 'replayed quarantined items',
  'quarantine.discard': 'discarded quarantined items',
  'destination.add': 'added a destination',
  'destination.change': 'changed a destination',
  'destination.delete': 'deleted a destination',
  'rule.save': 'switched on or changed an alert rule',
  'rule.delete': 'switched off an alert rule',
  'destination.test': 'sent a test event',
  'destination.pause': 'paused a destination',
  'destination.resume': 'resumed a destination',
  'destination.rewind': 'resent events to a destination, or skipped its backlog',
  'destination.forget': 'deleted the state of a destination',
  'destination.replay': 'resent rejected events',
  'subscriptions.apply': 'applied subscriptions',
  'subscriptions.remove': 'removed subscriptions',
  'access.add': 'added an account',
  'access.change': 'changed an account',
  'access.remove': 'disabled an account',
  'access.token': 'created an API token',
  'access.revoke': 'revoked an API token',
  'service.start': 'started',
  'settings.reload': 'reloaded the settings',
  'source.add': 'added a source',
  'source.rotate': 'added a new secret to a source',
  'source.drop-old': 'dropped the old secrets of a source',
  'source.disable': 'disabled a source',
  'source.reencrypt': 're-encrypted the secrets of sources and destinations',
  'retention.drop': 'deleted an expired month',
  'archive.month': 'archived a month',
  'archive.restore': 'brought archived events back',
  'database.backup': 'backed up the database',
  'database.restore': 'restored the database from a backup',
  'database.move': 'moved the database to a server',
} as const;

export type OperatorActionName = keyof typeof OPERATOR_ACTIONS;

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
    invitation: Buffer | null;
    invited_until: Timestamp | null;
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
