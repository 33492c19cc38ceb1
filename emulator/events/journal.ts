import type { Clock } from '../../src/lib/clock.ts';
import type { CloudType } from '../../src/events/domain.ts';
import type { LogKind } from '../../src/cloud/contract/logs.ts';

/** A record in the form that a webhook carries. */
export type SentRecord = Readonly<Record<string, unknown>>;

/** A record in the form that `GET /logs/{kind}` returns. `timestamp` is in epoch milliseconds. */
export interface ListedRecord {
  readonly id: number | string;
  readonly timestamp: number;
  readonly [member: string]: unknown;
}

/** The whole text of an audit event whose log record has a summary (vendor's description). */
interface FullDescription {
  id: number;
  timestamp: number;
  device_id: number;
  description: string;
}

/** An event: sent to the subscribers of its type, and listed if the type has a log. */
export interface Entry {
  messageType: CloudType;
  sent: SentRecord;
  listed?: ListedRecord;
  /** Members of the log record that change later, such as the status of a message. */
  settled?: Readonly<Record<string, unknown>>;
  fullDescription?: FullDescription;
}

/** What sets a log record apart from the webhook of its event, in milliseconds. */
export interface Lateness {
  /** From the event until the log lists it. */
  delayMs: number;
  /** The time in the log minus the time in the webhook. */
  skewMs: number;
  /** From the event until its members have settled. */
  settleMs: number;
}

/** All events, passed on to listeners. Each log keeps the newest only. */
export interface Journal {
  append(entry: Entry): void;
  /** The records that a log lists by now, with their present members, in the order of their events. */
  list(kind: LogKind | 'alert'): ListedRecord[];
  fullDescription(id: string): FullDescription | undefined;
  /** Calls the listener with every entry from now on. */
  subscribe(listener: (entry: Entry) => void): void;
}

/** The log of each message type that has one. */
export const LOG_OF: Readonly<Partial<Record<CloudType, LogKind>>> = {
  AUDIT_LOG_ALL: 'audit',
  AUTHENTICATION_LOG_ALL: 'auth',
  ACCOUNTING_LOG_ALL: 'accounting',
  CREDENTIAL_LOG_ALL: 'credential',
  EMAIL_LOG_ALL: 'email',
  SMS_LOG_ALL: 'sms',
};

/** Records kept in each log. Seven full logs use about 60 MB. */
const KEPT = 20_000;

interface JournalOptions {
  clock: Clock;
  /** The lateness of the next log record. By default there is none, and members settle at once. */
  lateness?: () => Lateness;
  /** Each log keeps at least as many records. */
  kept?: number;
}

interface Listing {
  record: ListedRecord;
  listedAt: number;
  settled: Entry['settled'];
  settledAt: number;
  fullDescription: FullDescription | undefined;
}

const PUNCTUAL: Lateness = { delayMs: 0, skewMs: 0, settleMs: 0 };

/** Creates an empty journal. */
export function createJournal({ clock, lateness = () => PUNCTUAL, kept = KEPT }: JournalOptions): Journal {
  const logs = new Map<LogKind | 'alert', Listing[]>();
  const listeners: ((entry: Entry) => void)[] = [];

  function keep({ messageType, listed, settled, fullDescription }: Entry): void {
    const kind = messageType === 'ALERT' ? 'alert' : LOG_OF[messageType];
    if (kind === undefined || listed === undefined) return;
    const log = logs.get(kind) ?? [];
    logs.set(kind, log);
    const { delayMs, skewMs, settleMs } = lateness();
    const now = clock.now();
    log.push({
      record: { ...listed, timestamp: listed.timestamp + skewMs },
      listedAt: now + delayMs,
      settled,
      settledAt: now + settleMs,
      fullDescription,
    });
    // In blocks, because removing the first element of a long array moves all others.
    if (log.length > kept * 1.1) log.splice(0, log.length - kept);
  }

  return {
    append(entry) {
      keep(entry);
      for (const listener of listeners) listener(entry);
    },
    list(kind) {
      const now = clock.now();
      const listings = (logs.get(kind) ?? []).filter(({ listedAt }) => listedAt <= now);
      return listings.map(({ record, settled, settledAt }) =>
        settled !== undefined && settledAt <= now ? { ...record, ...settled } : record,
      );
    },
    fullDescription: (id) =>
      logs.get('audit')?.find(({ fullDescription }) => String(fullDescription?.id) === id)?.fullDescription,
    subscribe(listener) {
      listeners.push(listener);
    },
  };
}
