import type { MessageType } from '../src/events/domain.ts';

/** Bodies of one message type and size. */
export interface Workload {
  readonly messageType: MessageType;
  readonly records: number;
  /** Rows of one delivery. */
  readonly rows: number;
  /** The workload that warms a target up: small deliveries of the same type, which are stored soon. */
  readonly warmUp: WorkloadName;
  /** The form of the secret. */
  readonly form: SecretForm;
  /** The body with its variable parts. No two bodies contain the same record. */
  readonly template: Template;
}

/** The forms of the secret that are compared. */
export const FORMS = ['bearer', 'basic'] as const;

type SecretForm = (typeof FORMS)[number];

/**
 * A variable part of a body: the time of sending as epoch milliseconds or in ISO 8601, or a number made from that of the
 * delivery: `base + (delivery + plus) % modulo`.
 */
export type Variable =
  'milliseconds' | 'time' | { readonly base: number; readonly plus: number; readonly modulo: number };

/** A text whose parts are literal or variable: a number is an index of `variables`. Every sender fills it anew. */
export interface Template {
  readonly parts: readonly (string | number)[];
  readonly variables: readonly Variable[];
}

/** Access points that see a client at the same time. */
const OBSERVERS = 3;

/** The mark of a variable, in characters that no record contains. */
const MARK = /<(\d+)>/;

/** The number of users and clients in the records. */
const PEOPLE = 5_000;

export const WORKLOAD_NAMES = ['audit-1', 'audit-1-basic', 'audit-20', 'location-1', 'location-20'] as const;

export type WorkloadName = (typeof WORKLOAD_NAMES)[number];

/** The workloads by name: message type and records of a body. */
export const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  'audit-1': audit(1),
  'audit-1-basic': { ...audit(1), form: 'basic' },
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
    form: 'bearer',
    template: templateOf(records, auditRecord),
  };
}

function location(records: number): Workload {
  return {
    messageType: 'LOCATION_CLIENT_CENTRIC',
    records,
    rows: records * OBSERVERS,
    warmUp: 'location-1',
    form: 'bearer',
    template: templateOf(records, locationRecord),
  };
}

/** The value of the Authorization header. */
export function authorizationOf(form: SecretForm, secret: string): string {
  return form === 'bearer'
    ? `Bearer ${secret}`
    : `Basic ${Buffer.from(`webhook:${secret}`).toString('base64')}`;
}

/** The body of delivery `number`, sent at `now` (epoch milliseconds). */
export function fill({ parts, variables }: Template, number: number, now: number): string {
  const values = variables.map((variable) => {
    if (variable === 'milliseconds') return now;
    if (variable === 'time') return new Date(now).toISOString();
    return variable.base + ((number + variable.plus) % variable.modulo);
  });
  return parts.map((part) => (typeof part === 'string' ? part : values[part])).join('');
}

/** Adds a variable to the template and returns its mark in the text. */
type Place = (variable: Variable) => string;

/** Each distinct variable is computed once for a body, because the sender runs on the same machine. */
function templateOf(records: number, makeRecord: (place: Place, index: number) => string): Template {
  const variables = new Map<string, Variable>();
  const place: Place = (variable) => {
    const key = JSON.stringify(variable);
    variables.set(key, variable);
    return `<${[...variables.keys()].indexOf(key)}>`;
  };
  const text = `[${Array.from({ length: records }, (_, index) => makeRecord(place, index)).join(',')}]`;
  const parts = text.split(MARK).map((part, index) => (index % 2 === 0 ? part : Number(part)));
  return { parts, variables: [...variables.values()] };
}

function cycle(modulo: number, { base = 0, plus = 0 } = {}): Variable {
  return { base, plus, modulo };
}

function auditRecord(place: Place, index: number): string {
  const user = `user${place(cycle(PEOPLE))}@example.com`;
  const device = `ap-${100 + index}`;
  return `{"ownerId":1234567,"orgId":0,"timeStamp":${place('milliseconds')},"id":null,"userId":${place(cycle(1e9))},"code":${40_001 + (index % 3)},"category":3,"description":"User ${user} has updated the configuration of ${device}","userName":"${user}","vhmName":"VHM-EXAMPLE","orgName":null,"deviceCount":1,"hostNames":["${device}"],"config":null,"deviceIds":[${172_435_467_890_101 + index}]}`;
}

function locationRecord(place: Place, index: number): string {
  const client = place(cycle(PEOPLE, { base: 1_000 }));
  const observers = Array.from({ length: OBSERVERS }, (_, observer) => {
    const accessPoint = place(cycle(800, { base: 100, plus: 7 * index + observer }));
    return `{"apMac":"D854A2000${accessPoint}","rssi":-${51 + observer},"locationIdHierarchy":[172435467890001,172435467890002,172435467890${accessPoint}]}`;
  });
  return `{"clientMac":"AABB${client}00${10 + index}","ipv4":"10.1.${place(cycle(250))}.${10 + index}","seenTime":"${place('time')}","seenEpoch":${place('milliseconds')},"lat":37.41${index}7,"lng":-121.94${index}3,"deviceObservers":[${observers.join(',')}]}`;
}
