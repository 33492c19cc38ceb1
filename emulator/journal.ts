import type { MessageType } from '../src/domain.ts';
import type { LogKind } from '../src/cloud/contract/logs.ts';

/** A record as a webhook carries it. */
export type SentRecord = Readonly<Record<string, unknown>>;

/** A record as `GET /logs/{kind}` lists it; `timestamp` in epoch milliseconds. */
interface ListedRecord {
  readonly id: number | string;
  readonly timestamp: number;
  readonly [member: string]: unknown;
}

/** Something that happened: told to the subscribers of its message type, and listed where that type has a log. */
export interface Entry {
  messageType: MessageType;
  sent: SentRecord;
  listed?: ListedRecord;
}

/** What happened so far, the newest of each log only. */
export interface Journal {
  append(entry: Entry): void;
  /** The records of a log, oldest first. */
  list(kind: LogKind): readonly ListedRecord[];
  /** Calls back with every entry from now on. */
  subscribe(listener: (entry: Entry) => void): void;
}

/** The message type whose events each log lists. */
export const LOG_OF: Readonly<Partial<Record<MessageType, LogKind>>> = {
  AUDIT_LOG_ALL: 'audit',
  AUTHENTICATION_LOG_ALL: 'auth',
  ACCOUNTING_LOG_ALL: 'accounting',
  CREDENTIAL_LOG_ALL: 'credential',
  EMAIL_LOG_ALL: 'email',
  SMS_LOG_ALL: 'sms',
};

/** Records kept of each log; six full logs take about 45 MB (measured). */
const KEPT = 20_000;

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
        // In blocks, because taking one off the front of a long array moves all the others.
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
