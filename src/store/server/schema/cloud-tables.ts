import type { GeneratedAlways } from 'kysely';
import type { Generated, Int8, Json, Timestamp } from './column-types.ts';

/**
 * Whether a quarter of an hour is proven to be complete. `whole`: the stored events and the cloud's history agreed twice,
 * far enough apart. `healed`: missing events were fetched. `push only`: the API has no history of this type.
 * `not comparable`: the history proves nothing about it, for a reason. `unrecoverable`: the history no longer reaches back
 * to it. `pending`: not proven yet.
 */
export const COVERAGE_STATES = [
  'whole',
  'healed',
  'push only',
  'not comparable',
  'unrecoverable',
  'pending',
] as const;

export type CoverageState = (typeof COVERAGE_STATES)[number];

/**
 * Why a comparison proves nothing. `record not stored`: a log record of the quarter is in quarantine, or of an erased person.
 * `restricted context`: HIQ hides organizations. `incomplete list`: the pages of the log contradict each other. `record
 * without time`: a log record belongs to an unknown quarter. `silent log`: the log lists nothing that is later than the
 * quarter, or nothing of what webhooks brought.
 */
export type CoverageDoubt =
  'record not stored' | 'restricted context' | 'incomplete list' | 'record without time' | 'silent log';

/**
 * Why events may be missing. `downtime`: no process accepted deliveries. `refused`: deliveries with a valid secret were
 * answered 429 or 503. `retention`: the events were deleted with their month.
 */
export const GAP_REASONS = [
  'downtime',
  'refused',
  'subscription off',
  'subscription changed',
  'silence',
  'retention',
] as const;

export type GapReason = (typeof GAP_REASONS)[number];

/** What a source had in its inventory for a time. */
interface Version {
  id: GeneratedAlways<string>;
  source: string;
  valid_from: Timestamp;
  valid_to: Timestamp | null;
}

/** Sources, subscriptions, what is proven to be complete, and the cloud's inventory. */
export interface CloudTables {
  sources: {
    name: string;
    definition: Json;
    old_secrets_until: Timestamp | null;
    revision: Generated<Int8>;
    created_at: Generated<Timestamp>;
    changed_at: Generated<Timestamp>;
    disabled_at: Timestamp | null;
  };
  subscriptions: {
    id: GeneratedAlways<string>;
    subscription_id: Int8 | null;
    source: string;
    message_type: string;
    url: string;
    application: string;
    status: string;
    secret_digest: string | null;
    created_at: Generated<Timestamp>;
    updated_at: Generated<Timestamp>;
  };
  refused_logins: {
    source: string;
    fingerprint: Buffer;
    status: number;
    reason: string;
    refused_at: Timestamp;
    until: Timestamp | null;
  };
  coverage: {
    source: string;
    message_type: string;
    quarter: Timestamp;
    state: Exclude<CoverageState, 'push only' | 'unrecoverable'>;
    healed: number;
    matched: number;
    only_webhook: number;
    compared_at: Timestamp;
    agreed_at: Timestamp | null;
    reason: CoverageDoubt | null;
  };
  gaps: {
    id: GeneratedAlways<string>;
    source: string | null;
    message_type: string | null;
    began_at: Timestamp;
    ended_at: Timestamp | null;
    reason: GapReason;
    detail: Generated<Json<Readonly<Record<string, unknown>>>>;
    recorded_at: Generated<Timestamp>;
  };
  heartbeat: {
    only_row: Generated<boolean>;
    receiving_at: Timestamp;
  };
  history_leases: {
    name: string;
    holder: string;
    until: Timestamp;
  };
  history_progress: {
    source: string;
    message_type: string;
    compared_until: Timestamp;
  };
  history_records: {
    source: string;
    message_type: string;
    log_id: string;
    occurred_at: Timestamp;
    event_id: string | null;
    event_occurred_at: Timestamp | null;
    status: string | null;
    seen_at: Generated<Timestamp>;
    status_changed_at: Timestamp | null;
  };
  devices: Version & {
    device_id: Int8;
    mac: string | null;
    serial_number: string | null;
    host_name: string | null;
    function: string | null;
    location_id: Int8 | null;
  };
  locations: Version & {
    location_id: Int8;
    parent_id: Int8 | null;
    name: string;
    type: string | null;
    place: string;
  };
  organizations: Version & {
    organization_id: Int8;
    name: string;
  };
  people: Version & {
    person_id: Int8;
    user_name: string;
    name: string | null;
    role: string | null;
  };
}
