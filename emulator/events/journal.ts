import type { MessageType } from '../../src/domain.ts';
import type { LogKind } from '../../src/cloud/contract/logs.ts';

/** A record in the form that a webhook carries. */
export type SentRecord = Readonly<Record<string, unknown>>;

/** A record in the form that `GET /logs/{kind}` returns. `timestamp` is in epoch milliseconds. */
interface ListedRecord {
  readonly id: number | string;
  readonly timestamp: number;
  readonly [member: string]: unknown;
}

/** An event: sent to the subscribers of its message type, and listed if the type has a log. */
export interface Entry {
  messageType: MessageType;
  sent: SentRecord;
  listed?: ListedRecord;
}

/** All events, passed on to listeners. Each log keeps the newest only. */
export interface Journal {
  append(entry: Entry): void;
  /** The records of a log, oldest first. */
  list(kind: LogKind): readonly ListedRecord[];
  /** Calls the listener with every entry from now on. */
  subscribe(listener: (entry: Entry) => void): void;
}

/** The log of each message type that has one. */
export const LOG_OF: Readonly<Partial<Record<MessageType, LogKind>>> = {
  AUDIT_LOG_ALL: 'audit',
  AUTHENTICATION_LOG_ALL: 'auth',
  ACCOUNTING_LOG_ALL: 'accounting',
  CREDENTIAL_LOG_ALL: 'credential',
  EMAIL_LOG_ALL: 'email',
  SMS_LOG_ALL: 'sms',
};

/** Records kept in each log. Six full logs use about 45 MB (measured). */
const KEPT = 20_000;

/** Creates an empty journal, which keeps at least `kept` records of each log. */
export function createJournal(kept = KEPT): Journal {
  const logs = new Map<LogKind, ListedRecord[]>();
  const listeners: ((entry: Entry) => void)[] = [];
  return {
    append(entry) {
      const kind = LOG_OF[entry.messageType];
      if (kind !== undefined && entry.listed !== undefined) {
        const log = logs.get(kind) ?? [];
        logs.set(kind, log);
        log.push(entry.listed);
        // In blocks, because removing the first element of a long array moves all others.
        if (log.length > kept * 1.1) log.splice(0, log.length - kept);
      }
      for (const listener of listeners) listener(entry);
    },
    list: (kind) => logs.get(kind) ?? [],
    subscribe(listener) {
      listeners.push(listener);
    },
  };
}
