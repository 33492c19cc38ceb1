import type { GeneratedAlways } from 'kysely';
import type { Generated, Int8, Timestamp } from './column-types.ts';
import type { DeliveryCounts } from './delivery-tables.ts';

/** The kinds of people and devices that events name. */
export const SEEN_KINDS = ['administrator', 'user', 'client', 'access point'] as const;

export type SeenKind = (typeof SEEN_KINDS)[number];

/** Counts of deliveries by time of arrival, and of events by the people and devices that they name. */
export interface CountTables {
  arrivals: DeliveryCounts & {
    bucket: Timestamp;
    seconds: number;
    last_received_at: Timestamp;
  };
  arrivals_progress: {
    only_row: Generated<boolean>;
    next_xid: string;
    era: Generated<number>;
  };
  arrival_totals: DeliveryCounts & {
    last_received_at: Timestamp;
  };
  seen: {
    kind: SeenKind;
    key: string;
    source: string;
    name: string | null;
    label: GeneratedAlways<string>;
    audit_at: Timestamp | null;
    location_at: Timestamp | null;
    log_at: Timestamp | null;
    last_seen: GeneratedAlways<Date>;
  };
  seen_days: {
    kind: SeenKind;
    key: string;
    source: string;
    day: Date;
    events: Int8;
    logins: Int8;
    changes: Int8;
    keys: Int8;
  };
  seen_progress: {
    only_row: Generated<boolean>;
    first_position: Int8;
    next_position: Int8;
  };
}
