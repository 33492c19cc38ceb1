import type { CloudClient } from '../cloud/client.ts';
import type { Subscription } from '../cloud/contract/subscription.ts';
import type { Db } from '../store/database.ts';
import { findSubscriptions, type RecordedSubscription } from '../store/subscriptions.ts';
import { digestOf } from './desired.ts';

/** A subscription in the cloud, as far as it is known. */
export interface ActualSubscription {
  /** The cloud's id; undefined if the cloud has not returned it and does not list subscriptions. */
  readonly id: string | undefined;
  readonly application: string;
  readonly url: string;
  readonly messageType: string;
  readonly status: string;
  /** Undefined if the registered secret is unknown. */
  readonly secretDigest: string | undefined;
}

/** The existing subscriptions. */
export interface Actual {
  /** `cloud`: its full list, including other applications. `records`: our own records, because the cloud has no list. */
  readonly from: 'cloud' | 'records';
  readonly subscriptions: readonly ActualSubscription[];
}

/** Reads the subscriptions from the cloud or, if it does not list them, from our own records of the source. */
export async function readActual(
  { subscriptions: cloud }: Pick<CloudClient, 'subscriptions'>,
  db: Db,
  source: string,
  signal?: AbortSignal,
): Promise<Actual> {
  const list = await cloud.list(signal);
  const records = await findSubscriptions(db, source);
  if (!list.available) return { from: 'records', subscriptions: records.map(fromRecord) };
  // If the list changed in the meantime, one may be on two pages: it is not a duplicate.
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
  // If the list does not show secrets, the one that we set ourselves counts.
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

/** Our record of a subscription of this source. */
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
