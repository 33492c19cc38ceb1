import type { GeneratedAlways } from 'kysely';
import type { MessageType } from '../../../events/domain.ts';
import type { Generated, Int8, Json, Timestamp } from './column-types.ts';

/** What identifies records that are not stored again. */
export type FingerprintKind = 'user' | 'mac' | 'phone' | 'event' | 'client';

/** Rows that may change: each of their states is sealed as a statement. */
export const STATEMENT_KINDS = ['operation', 'quarantined item', 'gap', 'erasure', 'archived file'] as const;

export type StatementKind = (typeof STATEMENT_KINDS)[number];

/** Rows of which many share a statement. */
export type TileKind = 'deliveries' | 'quarters';

/** The log of events and statements, its seal, and erasures. */
export interface SealTables {
  archived_files: {
    id: GeneratedAlways<string>;
    path: string;
    family_table: string;
    source: string;
    message_type: MessageType;
    first_at: Timestamp;
    last_at: Timestamp;
    first_received_at: Timestamp;
    last_received_at: Timestamp;
    row_count: Int8;
    bytes: Int8;
    sha256: string;
    table_bytes: Int8;
    written_at: Generated<Timestamp>;
    archived_at: Timestamp | null;
    removed_at: Timestamp | null;
    removed_because: string | null;
  };
  log_state: {
    only_row: Generated<boolean>;
    first_position: Int8;
    next_position: Int8;
    server: string;
    next_xid: string;
    held_xid: string;
    held_since: Generated<Timestamp>;
    last_received: Generated<Timestamp>;
    last_id: Int8;
    earlier_id: Int8;
  };
  log_kinds: {
    kind: GeneratedAlways<number>;
    source: string;
    message_type: MessageType;
  };
  log_tiles: {
    first: Int8;
    kinds: number[];
    occurred_at: Date[];
    event_ids: string[];
    received_from: Timestamp;
    received_to: Timestamp;
  };
  log_seal_state: {
    only_row: Generated<boolean>;
    size: Int8;
    first_position: Int8;
    next_position: Int8;
  };
  log_seals: {
    first_leaf: Int8;
    leaves: Int8;
    kind: string;
    version: number;
    first_position: Int8 | null;
  };
  log_hashes: {
    level: number;
    number: Int8;
    hashes: Buffer;
  };
  log_salts: {
    number: Int8;
    salts: Buffer[];
  };
  log_checkpoints: {
    size: Int8;
    made_at: Timestamp;
    note: string;
    public_key: string;
  };
  log_queue: {
    id: GeneratedAlways<string>;
    kind: StatementKind | 'quarter';
    key: string;
  };
  log_delivery_queue: {
    id: GeneratedAlways<string>;
    delivery_ids: string[];
    received_at: Date[];
  };
  log_statements: {
    leaf: Int8;
    kind: StatementKind | TileKind;
    key: string;
    record: string;
  };
  log_anchors: {
    anchor: string;
    size: Generated<Int8>;
    tried_at: Timestamp;
    anchored_at: Timestamp | null;
    error: string | null;
  };
  witnessed_logs: {
    public_key: string;
    note: string;
    signed_at: Timestamp;
    fork_found_at: Timestamp | null;
    fork: string | null;
  };
  log_timestamps: {
    size: Int8;
    made_at: Timestamp;
    note: string;
    token: Buffer;
  };
  log_verifications: {
    chunk: Int8;
    verified_at: Timestamp;
    leaves: number;
    altered: number;
    missing: number;
  };
  log_verified_events: {
    chunk: Int8;
    source: string;
    message_type: string;
    events: number;
    intact: number;
    expired: number;
    erased: number;
    altered: number;
    missing: number;
  };
  erasures: {
    id: Generated<Int8>;
    erased_at: Generated<Timestamp>;
    operator: string;
    reason: string;
    event_count: number;
    item_count: number;
    operation_count: number;
    leaves: string;
    deliveries: Json;
  };
  refused_records: {
    id: GeneratedAlways<string>;
    kind: FingerprintKind;
    words: number;
    key_id: string;
    digest: Buffer;
    sieve: number | null;
    until: Generated<Timestamp>;
    source: string | null;
  };
}
