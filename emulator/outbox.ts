import type { MessageType } from '../src/domain.ts';
import type { Journal, SentRecord } from './journal.ts';
import type { Random } from './random.ts';
import type { HeldSubscription, SubscriptionStore } from './subscriptions.ts';

/** One delivery, ready to be sent. */
export interface OutgoingDelivery {
  messageType: MessageType;
  url: string;
  secret: string;
  body: string;
  records: number;
}

/** What waits to be sent, by subscription. Events reach the subscriptions that are enabled when they happen. */
export interface Outbox {
  /** The enabled subscription whose turn it is, each in its turn, and whether a new round begins with it. */
  next(): { subscription: HeldSubscription; beginsRound: boolean } | undefined;
  /** What waits for a subscription, as one delivery: an array, or now and then a single object where one waits. */
  take(subscription: HeldSubscription): OutgoingDelivery | undefined;
}

const MAX_RECORDS = 20;
const SINGLE_OBJECT_SHARE = 0.5;

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
