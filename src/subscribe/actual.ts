import type { CloudClient } from '../cloud/client.ts';
import type { Subscription } from '../cloud/contract/subscription.ts';
import type { Db } from '../store/database.ts';
import { findSubscriptions } from '../store/subscriptions.ts';
import type { RecordedSubscription } from '../store/subscriptions.ts';
import { digestOf } from './desired.ts';

/** A subscription as the cloud holds it, by what is known of it. */
export interface ActualSubscription {
  /** The cloud's id; undefined where the cloud has not told it and lists nothing. */
  readonly id: string | undefined;
  readonly application: string;
  readonly url: string;
  readonly messageType: string;
  readonly status: string;
  /** Undefined: nobody knows which secret is registered. */
  readonly secretDigest: string | undefined;
}

/** The subscriptions there are. */
export interface Actual {
  /** `cloud`: its whole list, other applications' included. `records`: it has no list, so what we wrote down. */
  readonly from: 'cloud' | 'records';
  readonly subscriptions: readonly ActualSubscription[];
}

/** Asks the cloud which subscriptions it holds; where it does not list them, our own records of the source. */
export async function readActual(
  { subscriptions: cloud }: Pick<CloudClient, 'subscriptions'>,
  db: Db,
  source: string,
  signal?: AbortSignal,
): Promise<Actual> {
  const list = await cloud.list(signal);
  const records = await findSubscriptions(db, source);
  if (!list.available) return { from: 'records', subscriptions: records.map(fromRecord) };
  // One that comes on two pages, because the list changed meanwhile, must not be taken for its own duplicate.
  const byId = new Map(list.subscriptions.map((listed) => [listed.id, listed]));
  return { from: 'cloud', subscriptions: [...byId.values()].map((listed) => fromCloud(listed, records)) };
}

function fromCloud(listed: Subscription, records: readonly RecordedSubscription[]): ActualSubscription {
  const { id, application, url, secret, message_type: messageType, status } = listed;
  const actual = {
    id,
    application: application ?? '',
    url: url ?? '',
    messageType: messageType ?? '',
    status: status ?? '',
  };
  // A list that does not show secrets leaves us with the one that we set ourselves.
  const secretDigest =
    typeof secret === 'string' ? digestOf(secret) : (recordOf(actual, records)?.secret_digest ?? undefined);
  return { ...actual, secretDigest };
}

function recordOf(
  { id, messageType, url }: Omit<ActualSubscription, 'secretDigest'>,
  records: readonly RecordedSubscription[],
): RecordedSubscription | undefined {
  return (
    records.find((record) => record.subscription_id === id) ??
    records.find(
      (record) =>
        record.subscription_id === null && record.message_type === messageType && record.url === url,
    )
  );
}

function fromRecord(record: RecordedSubscription): ActualSubscription {
  return {
    id: record.subscription_id ?? undefined,
    application: record.application,
    url: record.url,
    messageType: record.message_type,
    status: record.status,
    secretDigest: record.secret_digest ?? undefined,
  };
}

/** What is written down of a subscription of this source. */
export function toRecord(source: string, actual: ActualSubscription): RecordedSubscription {
  return {
    subscription_id: actual.id ?? null,
    source,
    message_type: actual.messageType,
    url: actual.url,
    application: actual.application,
    status: actual.status,
    secret_digest: actual.secretDigest ?? null,
  };
}
