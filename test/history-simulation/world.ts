import { createRandom, type Random } from '../../emulator/random.ts';
import type { LogRecord } from '../../src/cloud/contract/logs.ts';
import type { LoggedType } from '../../src/reconcile/log-kinds.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** When a simulation begins. */
export const START = Date.parse('2026-03-02T00:00:00Z');

/** For so long events happen. */
export const EVENTS_MS = 12 * HOUR;

/** Log records are at most this late. */
const MOST_LATE_MS = 6 * HOUR;

const OUTAGE_MS = 3 * HOUR;

type Fields = Readonly<Record<string, string | number | boolean | Readonly<Record<string, string>>>>;

/** An event in the log of the cloud. */
export interface LogEntry {
  readonly messageType: LoggedType;
  readonly logId: string;
  /** Epoch milliseconds by the clock of the log. */
  readonly at: number;
  readonly visibleAt: number;
  /** The events that may be confused with each other: `u12`, the user name in their records. */
  readonly cluster: string;
  readonly record: LogRecord;
  /** Of an audit event: the beginning of it is in the record. */
  readonly description: string | undefined;
  /** The status that the record gets later. */
  readonly later: { readonly at: number; readonly status: string; readonly changed: Fields } | undefined;
}

/** A webhook that the cloud sends. */
export interface SentDelivery {
  readonly messageType: LoggedType;
  readonly arrivesAt: number;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/** What the lists of the cloud may do wrong. */
const TROUBLES = [
  'short pages',
  'empty pages',
  'lower total',
  'higher total',
  'total of zero',
  'repeated records',
  'missing times',
  'silent log',
  'stopped log',
  'restricted context',
] as const;

export interface Trouble {
  readonly kind: (typeof TROUBLES)[number];
  /** In epoch milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** Everything that happens in one run. */
export interface World {
  /** What is wrong with the lists of the cloud, and when: at most two things. */
  readonly troubles: readonly Trouble[];
  readonly messageTypes: readonly LoggedType[];
  /** In the order of their time. */
  readonly log: readonly LogEntry[];
  /** In the order of their arrival. Lost ones are left out. */
  readonly deliveries: readonly SentDelivery[];
  /** Events that no delivery brings, apart from the outage. */
  readonly dropped: number;
  /** When this service is down: deliveries that arrive then are lost. */
  readonly outage: { readonly from: number; readonly to: number } | undefined;
}

const TYPES: readonly LoggedType[] = [
  'AUDIT_LOG_ALL',
  'AUTHENTICATION_LOG_ALL',
  'ACCOUNTING_LOG_ALL',
  'CREDENTIAL_LOG_ALL',
  'EMAIL_LOG_ALL',
  'SMS_LOG_ALL',
  'ALERT',
];

/** How likely what is in this run, drawn once. */
interface Habits {
  readonly dropShare: number;
  readonly lateShare: number;
  /** The clock of the webhooks is this much ahead of that of the log. */
  readonly skewMs: number;
  readonly jitterMs: number;
  /** Whether the webhook of an alert has the id of the alert. */
  readonly hasAlertId: boolean;
}

/** Draws a run with about so many events. */
export function drawWorld(seed: number, events: number): World {
  const random = createRandom(seed, 'world');
  const messageTypes = TYPES.filter(() => random.chance(0.3));
  if (messageTypes.length === 0) messageTypes.push('AUDIT_LOG_ALL');
  const habits: Habits = {
    dropShare: random.int(0, 20) / 100,
    lateShare: random.int(0, 30) / 100,
    skewMs: random.chance(0.5) ? random.int(-900, 900) : 0,
    jitterMs: random.chance(0.5) ? 500 : 0,
    hasAlertId: random.chance(0.5),
  };
  const outageAt = START + random.int(HOUR, EVENTS_MS - OUTAGE_MS);
  const log: LogEntry[] = [];
  const deliveries: SentDelivery[] = [];
  let dropped = 0;
  for (let cluster = 0; log.length < events; cluster += 1) {
    const drawn = drawCluster(random, habits, random.pickAny(messageTypes) ?? 'AUDIT_LOG_ALL', cluster);
    drawn.entries.forEach((entry) => log.push(entry));
    drawn.deliveries.forEach((delivery) => deliveries.push(delivery));
    dropped += drawn.dropped;
  }
  return {
    messageTypes,
    log: log.sort((a, b) => a.at - b.at),
    deliveries: deliveries.sort((a, b) => a.arrivesAt - b.arrivesAt),
    dropped,
    troubles: drawTroubles(createRandom(seed, 'troubles')),
    outage: random.chance(0.7) ? { from: outageAt, to: outageAt + OUTAGE_MS } : undefined,
  };
}

/** Nothing, one thing or two things, all the time or for some hours. */
function drawTroubles(random: Random): Trouble[] {
  const count = random.chance(0.1) ? 0 : random.chance(0.3) ? 2 : 1;
  const troubles = Array.from({ length: count }, (): Trouble => {
    const begin = START + random.int(0, EVENTS_MS);
    const isLasting = random.chance(0.4);
    const span = isLasting
      ? { from: START, to: Infinity }
      : { from: begin, to: begin + random.int(HOUR, 10 * HOUR) };
    return { kind: random.pick(TROUBLES), ...span };
  });
  // Nobody can tell a short page whose total is the size of the page from the end of the list.
  const isHidden = troubles.some(({ kind }) => kind === 'short pages');
  return isHidden ? troubles.filter(({ kind }) => kind !== 'lower total') : troubles;
}

/** Events of one user within a few seconds: twins in one millisecond, others nearly the same, or one alone. */
function drawCluster(random: Random, habits: Habits, messageType: LoggedType, number: number) {
  const size = random.chance(0.7) ? 1 : random.int(2, 6);
  const begin = START + random.int(0, EVENTS_MS - 10 * SECOND);
  const cluster = `u${number}`;
  const entries: LogEntry[] = [];
  const sent: { readonly at: number; readonly record: Readonly<Record<string, unknown>> }[] = [];
  let dropped = 0;
  for (let index = 0; index < size; index += 1) {
    const at = random.chance(0.6) ? begin : begin + random.int(0, 4 * SECOND);
    const content = contentOf(random, messageType, cluster, at);
    const lateMs = random.chance(habits.lateShare) ? random.int(0, MOST_LATE_MS) : random.int(0, MINUTE);
    const logId = String(number * 10 + index + 1);
    const isShortened = random.chance(0.5);
    const summary = isShortened ? shortened(content, logId) : content;
    const isAlert = messageType === 'ALERT';
    const { description } = content;
    entries.push({
      messageType,
      logId,
      at,
      visibleAt: at + lateMs,
      cluster,
      record: {
        id: isAlert ? logId : Number(logId),
        timestamp: isAlert ? new Date(at).toISOString() : at,
        ...inSnakeCase(summary),
      },
      description: typeof description === 'string' ? description : undefined,
      later: drawLater(random, content, at),
    });
    if (random.chance(habits.dropShare)) dropped += 1;
    else {
      const skew = habits.skewMs + random.int(-habits.jitterMs, habits.jitterMs);
      const id = isAlert && habits.hasAlertId ? logId : null;
      sent.push({ at, record: { ownerId: 1, orgId: 0, id, timeStamp: at + skew, ...content } });
    }
  }
  return { entries, deliveries: deliver(random, messageType, sent), dropped };
}

function drawLater(random: Random, content: Fields, at: number): LogEntry['later'] {
  const later = () => at + random.int(MINUTE, 5 * HOUR);
  if ('status' in content) return { at: later(), status: 'SUCCESS', changed: { status: 'SUCCESS' } };
  if ('acknowledged' in content) return { at: later(), status: 'true', changed: { acknowledged: true } };
  return undefined;
}

/** Together or one by one, mostly at once, at times late, at times twice. */
function deliver(
  random: Random,
  messageType: LoggedType,
  sent: readonly { readonly at: number; readonly record: Readonly<Record<string, unknown>> }[],
): SentDelivery[] {
  const groups = random.chance(0.5) ? [sent] : sent.map((one) => [one]);
  return groups.flatMap((group) => {
    if (group.length === 0) return [];
    const last = Math.max(...group.map(({ at }) => at));
    const delay = random.chance(0.03) ? random.int(3 * MINUTE, 3 * HOUR) : random.int(50, 20 * SECOND);
    const delivery = { messageType, arrivesAt: last + delay, records: group.map(({ record }) => record) };
    return random.chance(0.02)
      ? [delivery, { ...delivery, arrivesAt: delivery.arrivesAt + random.int(SECOND, HOUR) }]
      : [delivery];
  });
}

function contentOf(random: Random, messageType: LoggedType, cluster: string, at: number): Fields {
  const number = Number(cluster.slice(1));
  switch (messageType) {
    case 'AUDIT_LOG_ALL': {
      const description = `User ${cluster} changed ${random.pick(['a policy', 'a policy of a site', 'an SSID'])}`;
      return { userId: number, code: random.pick([10_001, 40_001]), userName: cluster, description };
    }
    case 'AUTHENTICATION_LOG_ALL':
      return {
        username: cluster,
        callingStationId: `00-00-00-00-00-${String(number % 100).padStart(2, '0')}`,
        reply: random.pick(['Access-Accept', 'Access-Reject']),
        authDate: at,
      };
    case 'ACCOUNTING_LOG_ALL':
      return {
        username: cluster,
        acctSessionId: `${cluster}-${random.int(1, 2)}`,
        eventTime: at,
        acctInputOctets: random.pick([0, 1_000]),
        acctOutputOctets: 0,
      };
    case 'CREDENTIAL_LOG_ALL':
      return { username: cluster, vhmId: 7 };
    case 'EMAIL_LOG_ALL':
      return {
        username: cluster,
        userId: number,
        customerId: 7,
        approverEmail: random.pick(['a@example.com', 'b@example.com']),
        status: 'SEND_OUT',
      };
    case 'SMS_LOG_ALL':
      return { username: cluster, userId: number, customerId: 7, tel: '+491234567', status: 'SEND_OUT' };
    case 'ALERT':
      return {
        username: cluster,
        alertPolicyId: 3,
        alertRuleId: random.pick([31, 32]),
        source: { source_id: cluster, source_name: `ap ${cluster}` },
        acknowledged: false,
      };
  }
}

/** The log of audit events has a summary: the beginning of the description. The whole has the same id here. */
const shortened = (content: Fields, logId: string): Fields => {
  const { description, ...others } = content;
  if (typeof description !== 'string') return content;
  return { ...others, description: description.slice(0, 24), fullDescriptionId: Number(logId) };
};

const inSnakeCase = (content: Fields): Fields =>
  Object.fromEntries(
    Object.entries(content).map(([name, value]) => [
      name === 'userName' ? 'username' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
