import type { MessageType } from '../src/domain.ts';

/** Bodies of one message type and size. */
export interface Workload {
  readonly messageType: MessageType;
  readonly records: number;
  /** Rows of one delivery. */
  readonly rows: number;
  /** The workload that warms a target up: small deliveries of the same type, which are stored soon. */
  readonly warmUp: WorkloadName;
  /** The body of delivery `number`, sent at `now` (epoch milliseconds). No two bodies contain the same record. */
  readonly body: (number: number, now: number) => string;
}

/** Access points that see a client at the same time. */
const OBSERVERS = 3;

/** The number of users and clients in the records. */
const PEOPLE = 5_000;

export const WORKLOAD_NAMES = ['audit-1', 'audit-20', 'location-1', 'location-20'] as const;

export type WorkloadName = (typeof WORKLOAD_NAMES)[number];

/** The workloads by name: message type and records of a body. */
export const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  'audit-1': audit(1),
  'audit-20': audit(20),
  'location-1': location(1),
  'location-20': location(20),
};

function audit(records: number): Workload {
  return {
    messageType: 'AUDIT_LOG_ALL',
    records,
    rows: records,
    warmUp: 'audit-1',
    body: bodyOf(records, auditRecord),
  };
}

function location(records: number): Workload {
  return {
    messageType: 'LOCATION_CLIENT_CENTRIC',
    records,
    rows: records * OBSERVERS,
    warmUp: 'location-1',
    body: bodyOf(records, locationRecord),
  };
}

/** Concatenation costs the sender, which runs on the same machine, a third of JSON.stringify. */
function bodyOf(records: number, makeRecord: typeof auditRecord): Workload['body'] {
  const indexes = Array.from({ length: records }, (_, index) => index);
  return (number, now) => `[${indexes.map((index) => makeRecord(number, now, index)).join(',')}]`;
}

function auditRecord(number: number, now: number, index: number): string {
  const user = `user${number % PEOPLE}@example.com`;
  const device = `ap-${100 + index}`;
  return `{"ownerId":1234567,"orgId":0,"timeStamp":${now},"id":null,"userId":${number},"code":${40_001 + (index % 3)},"category":3,"description":"User ${user} has updated the configuration of ${device}","userName":"${user}","vhmName":"VHM-EXAMPLE","orgName":null,"deviceCount":1,"hostNames":["${device}"],"config":null,"deviceIds":[${172_435_467_890_101 + index}]}`;
}

function locationRecord(number: number, now: number, index: number): string {
  const client = 1_000 + (number % PEOPLE);
  const observers = Array.from({ length: OBSERVERS }, (_, observer) => {
    const accessPoint = 100 + ((number + 7 * index + observer) % 800);
    return `{"apMac":"D854A2000${accessPoint}","rssi":-${51 + observer},"locationIdHierarchy":[172435467890001,172435467890002,172435467890${accessPoint}]}`;
  });
  return `{"clientMac":"AABB${client}00${10 + index}","ipv4":"10.1.${client % 250}.${10 + index}","seenTime":"${new Date(now).toISOString()}","seenEpoch":${now},"lat":37.41${index}7,"lng":-121.94${index}3,"deviceObservers":[${observers.join(',')}]}`;
}
