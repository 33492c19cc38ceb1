import type { GeneratedAlways } from 'kysely';
import type { Period } from '../../../lib/text/parse-time.ts';
import type { Generated, Int8, Json, Timestamp } from './column-types.ts';

/** Rules and their alerts, saved searches, and scheduled reports. */
export interface AlertTables {
  alerts: {
    id: GeneratedAlways<string>;
    raised_at: Generated<Timestamp>;
    rule: string;
    title: string;
    severity: 'low' | 'medium' | 'high' | 'critical';
    source: string;
    grouped_by: Json<Readonly<Record<string, string>>>;
    event_count: number;
    first_at: Timestamp;
    last_at: Timestamp;
    causes: Json<readonly { readonly event_id: string; readonly occurred_at: string }[]>;
    destinations: string[] | null;
    is_stored: Generated<boolean>;
  };
  rule_progress: {
    only_row: Generated<boolean>;
    position: Int8 | null;
    rules: Generated<Json<Readonly<Record<string, string>>>>;
    changes: Generated<Int8>;
    evaluated_at: Timestamp | null;
  };
  rule_states: {
    rule: string;
    fingerprint: string;
    grouped_by: string;
    state: Json;
  };
  saved_searches: {
    id: GeneratedAlways<string>;
    name: string;
    line: string;
    since: string | null;
    until: string | null;
    saved_by: string;
    saved_at: Generated<Timestamp>;
    sources: string[] | null;
    raises_alerts: Generated<boolean>;
  };
  report_schedules: {
    name: string;
    every: Period;
    time_zone: string;
    next_since: Timestamp;
    leased_until: Timestamp | null;
    attempts: Generated<number>;
    retry_at: Timestamp | null;
    last_error: string | null;
  };
  reports_sent: {
    schedule: string;
    since: Timestamp;
    until: Timestamp;
    report: string;
    destination: string;
    row_count: Int8;
    sent_at: Generated<Timestamp>;
  };
}
