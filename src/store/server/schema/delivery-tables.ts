import type { MessageType, Origin, SecretForm, UNKNOWN_MESSAGE_TYPE } from '../../../events/domain.ts';
import type { Generated, Int8, Timestamp } from './column-types.ts';

export type Resolution = 'replayed' | 'discarded';

/** Open items, items resolved in one of the ways, or all items. */
export const QUARANTINE_STATES = ['open', 'replayed', 'discarded', 'all'] as const;

export type QuarantineState = (typeof QUARANTINE_STATES)[number];

export type ReceivedType = MessageType | typeof UNKNOWN_MESSAGE_TYPE;

/** The sums of the deliveries of a source and message type. */
export interface DeliveryCounts {
  source: string;
  message_type: ReceivedType;
  deliveries: Int8;
  records: Int8;
  expected: Int8;
  events: Int8;
  duplicates: Int8;
  quarantined: Int8;
  bytes: Int8;
  unbalanced: Int8;
}

/** Deliveries, quarantine, and what checks that none is missing. */
export interface DeliveryTables {
  deliveries: {
    delivery_id: string;
    received_at: Timestamp;
    stored_at: Generated<Timestamp>;
    body_bytes: number;
    record_count: number;
    expected_count: number;
    event_count: number;
    duplicate_count: number;
    quarantined_count: number;
    source: string;
    message_type: ReceivedType;
    origin: Origin;
    secret_form: SecretForm | null;
    xid: Generated<string | null>;
    sent_type: string | null;
    era: Generated<number>;
    refused_count: Generated<number>;
  };
  quarantine: {
    quarantine_id: string;
    delivery_id: string;
    received_at: Timestamp;
    source: string;
    message_type: ReceivedType;
    reason: string;
    content: Buffer;
    encoding: string | null;
    twins_before: Generated<number>;
    resolution: Resolution | null;
    resolved_at: Timestamp | null;
    replay_delivery_id: string | null;
    discarded_bytes: number | null;
    sent_type: string | null;
  };
  delivery_recounts: {
    partition: string;
    counted_at: Timestamp;
    counted_to: string;
    changes: string;
    until: Timestamp | null;
    dropped_at: Timestamp | null;
    counted_era: Generated<number>;
  };
  delivery_sums: DeliveryCounts & {
    partition: string;
    last_received_at: Timestamp | null;
    missing: Int8;
    differs: boolean;
  };
}
