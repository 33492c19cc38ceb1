import type { Family, MessageType, Origin } from '../../../events/domain.ts';
import type { FieldsOf } from '../../../events/message-types.ts';
import type { Generated, Int8, Json, Timestamp } from './column-types.ts';

interface Envelope {
  id: Generated<Int8>;
  xid: Generated<string>;
  occurred_at: Timestamp;
  received_at: Timestamp;
  owner_id: Int8 | null;
  org_id: Int8 | null;
  event_id: string;
  delivery_id: string;
  source: string;
  message_type: MessageType;
  origin: Origin;
  payload: Json;
  place: Generated<number>;
}

/** How statements read and write the values of each kind of column. */
interface Values {
  text: string;
  key: string;
  'key[]': string[];
  bigint: Int8;
  'bigint[]': string[];
  boolean: boolean;
  'double precision': number;
  timestamptz: Timestamp;
  inet: string;
  macaddr: string;
  jsonb: Json;
}

type EventsOf<F extends Family> = Envelope & {
  [One in FieldsOf<F> as One['column']]: Values[One['kind']] | null;
};

/** The families' tables, the view over them, and the events that others replace. */
export interface EventTables {
  audit_events: EventsOf<'audit'>;
  location_observations: EventsOf<'location'>;
  log_entries: EventsOf<'log'>;
  alerts_received: EventsOf<'alerts'>;
  other_events: EventsOf<'other'>;
  events: {
    id: Int8;
    event_id: string;
    delivery_id: string;
    source: string;
    message_type: MessageType;
    occurred_at: Timestamp;
    received_at: Timestamp;
    owner_id: Int8 | null;
    org_id: Int8 | null;
    origin: Origin;
    family: Family;
    user_name: string | null;
    code: Int8 | null;
    client_mac: string | null;
    ap_mac: string | null;
    description: string | null;
    payload: Json;
    xid: string;
  };
  superseded_events: {
    event_id: string;
    occurred_at: Timestamp;
    message_type: string;
    source: string;
    superseded_by: string;
    superseded_at: Generated<Timestamp>;
  };
}
