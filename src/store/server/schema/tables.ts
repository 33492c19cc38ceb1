import type { AccessTables } from './access-tables.ts';
import type { AlertTables } from './alert-tables.ts';
import type { CloudTables } from './cloud-tables.ts';
import type { CountTables } from './count-tables.ts';
import type { DeliveryTables } from './delivery-tables.ts';
import type { EventTables } from './event-tables.ts';
import type { SealTables } from './seal-tables.ts';
import type { Generated, Json, Timestamp, Int8 } from './column-types.ts';
import type { MessageType } from '../../../events/domain.ts';

/** Every table, and the views that statements read, by name. A test compares the columns with the migrated schema. */
export interface Tables
  extends
    EventTables,
    DeliveryTables,
    CountTables,
    SealTables,
    ForwardTables,
    AlertTables,
    CloudTables,
    AccessTables,
    ServerTables {}

/** The installation and its processes. */
interface ServerTables {
  installation: {
    is_only: Generated<boolean>;
    id: Generated<string>;
    created_at: Generated<Timestamp>;
  };
  locks: {
    name: string;
  };
  processes: {
    process_id: string;
    role: string;
    host: string;
    pid: number;
    version: string;
    started_at: Timestamp;
    seen_at: Generated<Timestamp>;
    figures: Json;
  };
  schema_compatibility: {
    migration: string;
    older_programs_may_run: boolean;
  };
}

/** The state of a destination: `refused` after it rejected our credentials, `paused` by a person. */
export type DestinationState = 'running' | 'paused' | 'refused';

/** Destinations, those and the alert rules that were added to the database, and rejected events. */
interface ForwardTables {
  destinations: {
    name: string;
    state: Generated<DestinationState>;
    generation: Generated<Int8>;
    sent_count: Generated<Int8>;
    lease_holder: string | null;
    lease_until: Timestamp | null;
    last_sent_at: Timestamp | null;
    last_error: string | null;
    last_error_at: Timestamp | null;
    created_at: Generated<Timestamp>;
    rejected_in_row: Generated<number>;
    cursor_position: Int8;
  };
  added_outputs: {
    kind: 'destination' | 'rule';
    name: string;
    definition: Json<Readonly<Record<string, unknown>>>;
    created_at: Generated<Timestamp>;
    changed_at: Generated<Timestamp>;
  };
  rejected_events: {
    destination: string;
    event_id: string;
    occurred_at: Timestamp;
    message_type: MessageType;
    reason: string;
    rejected_at: Generated<Timestamp>;
    replayed_at: Timestamp | null;
  };
}
