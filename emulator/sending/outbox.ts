import type { CloudType } from '../../src/events/domain.ts';
import type { Journal, SentRecord } from '../events/journal.ts';
import type { Random } from '../random.ts';

/** One delivery, ready to send. */
export interface OutgoingDelivery {
  messageType: CloudType;
  url: string;
  secret: string;
  body: string;
  records: number;
}

/** A subscription of either kind, as the outbox sees it. */
export interface Target {
  id: number;
  messageType: CloudType;
  url: string;
  secret: string;
  isEnabled: boolean;
  /** Whether it includes this record of its type. */
  includes(record: SentRecord): boolean;
}

/** Records that wait to be sent, by subscription. An event reaches the subscriptions that are enabled when it happens. */
export interface Outbox {
  /** The next enabled subscription in turn, and whether it begins a new round. */
  next(): { target: Target; beginsRound: boolean } | undefined;
  /** The waiting records of a subscription as one delivery: an array, or sometimes one object if one record waits. */
  take(target: Target): OutgoingDelivery | undefined;
}

const MAX_RECORDS = 20;
const SINGLE_OBJECT_SHARE = 0.5;

/** Creates an outbox, which listens to the journal. `targets` returns all subscriptions of the moment. */
export function createOutbox(targets: () => readonly Target[], journal: Journal, random: Random): Outbox {
  const waiting = new Map<number, SentRecord[]>();
  let turn = 0;

  journal.subscribe(({ messageType, sent }) => {
    for (const target of targets()) {
      if (!target.isEnabled || target.messageType !== messageType || !target.includes(sent)) continue;
      const records = waiting.get(target.id) ?? [];
      waiting.set(target.id, records);
      records.push(sent);
    }
  });

  return {
    next() {
      const all = targets();
      const ids = new Set(all.map(({ id }) => id));
      for (const id of waiting.keys()) if (!ids.has(id)) waiting.delete(id);
      const enabled = all.filter(({ isEnabled }) => isEnabled);
      turn = turn + 1 < enabled.length ? turn + 1 : 0;
      const target = enabled[turn];
      return target === undefined ? undefined : { target, beginsRound: turn === 0 };
    },
    take({ id, messageType, url, secret }) {
      // The body of an alert is not published. Here it is one alert, as `GET /alerts` lists it.
      const isAlert = messageType === 'ALERT';
      const records = waiting.get(id)?.splice(0, isAlert ? 1 : MAX_RECORDS) ?? [];
      const [first, second] = records;
      if (first === undefined) return undefined;
      const isObject = isAlert || (second === undefined && random.chance(SINGLE_OBJECT_SHARE));
      const body = JSON.stringify(isObject ? first : records);
      return { messageType, url, secret, body, records: records.length };
    },
  };
}
