import type { MessageType } from '../../src/domain.ts';
import type { Journal, SentRecord } from '../events/journal.ts';
import type { Random } from '../random.ts';
import type { HeldSubscription, SubscriptionStore } from './subscriptions.ts';

/** One delivery, ready to send. */
export interface OutgoingDelivery {
  messageType: MessageType;
  url: string;
  secret: string;
  body: string;
  records: number;
}

/** Records that wait to be sent, by subscription. An event reaches the subscriptions that are enabled when it happens. */
export interface Outbox {
  /** The next enabled subscription in turn, and whether it begins a new round. */
  next(): { subscription: HeldSubscription; beginsRound: boolean } | undefined;
  /** The waiting records of a subscription as one delivery: an array, or sometimes one object if one record waits. */
  take(subscription: HeldSubscription): OutgoingDelivery | undefined;
}

const MAX_RECORDS = 20;
const SINGLE_OBJECT_SHARE = 0.5;

/** Creates an outbox, which listens to the journal. */
export function createOutbox(subscriptions: SubscriptionStore, journal: Journal, random: Random): Outbox {
  const waiting = new Map<number, SentRecord[]>();
  let turn = 0;

  journal.subscribe(({ messageType, sent }) => {
    for (const { id, message_type, status } of subscriptions.list()) {
      if (status !== 'ENABLED' || message_type !== messageType) continue;
      const records = waiting.get(id) ?? [];
      waiting.set(id, records);
      records.push(sent);
    }
  });

  return {
    next() {
      for (const id of waiting.keys()) if (subscriptions.get(String(id)) === undefined) waiting.delete(id);
      const enabled = subscriptions.list().filter(({ status }) => status === 'ENABLED');
      turn = turn + 1 < enabled.length ? turn + 1 : 0;
      const subscription = enabled[turn];
      return subscription === undefined ? undefined : { subscription, beginsRound: turn === 0 };
    },
    take({ id, message_type, url, secret }) {
      const records = waiting.get(id)?.splice(0, MAX_RECORDS) ?? [];
      const [first, second] = records;
      if (first === undefined) return undefined;
      const isObject = second === undefined && random.chance(SINGLE_OBJECT_SHARE);
      const body = JSON.stringify(isObject ? first : records);
      return { messageType: message_type, url, secret, body, records: records.length };
    },
  };
}
