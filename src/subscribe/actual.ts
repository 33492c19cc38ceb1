import type { CloudClient } from '../cloud/client.ts';
import type { Subscription } from '../cloud/contract/subscription.ts';
import type { Db } from '../store/server/database.ts';
import { findSubscriptions, type RecordedSubscription } from '../store/sources/subscriptions.ts';
import { digestOf, isAlert, type DesiredSubscription } from './desired.ts';

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

export interface Actual {
  /** `cloud`: its full list, including other applications. `records`: our own records, because the cloud has no list. */
  readonly from: 'cloud' | 'records';
  readonly subscriptions: readonly ActualSubscription[];
  /** Whether the cloud has alert subscriptions, which come with its list in any case. */
  readonly hasAlerts: boolean;
}

export type SubscriptionApis = Pick<CloudClient, 'subscriptions' | 'alertSubscriptions'>;

/** Reads the subscriptions from the cloud or, if it does not list them, from our own records of the source. */
export async function readActual(
  { subscriptions, alertSubscriptions }: SubscriptionApis,
  db: Db,
  source: string,
  signal?: AbortSignal,
): Promise<Actual> {
  const webhooks = await subscriptions.list(signal);
  const alerts = await alertSubscriptions.list(signal);
  const records = await findSubscriptions(db, source);
  const ofAlerts = records.filter((record) => isAlert(record.message_type));
  const ofWebhooks = records.filter((record) => !isAlert(record.message_type));
  return {
    from: webhooks.available ? 'cloud' : 'records',
    hasAlerts: alerts.available,
    subscriptions: [
      ...(webhooks.available ? fromCloud(webhooks.subscriptions, ofWebhooks) : ofWebhooks.map(fromRecord)),
      ...(alerts.available ? fromCloud(alerts.subscriptions, ofAlerts) : []),
    ],
  };
}

/** The desired subscriptions that this cloud offers. Older versions have no alert subscriptions. */
export function offeredOf(desired: readonly DesiredSubscription[], { hasAlerts }: Actual) {
  return desired.filter(({ messageType }) => hasAlerts || !isAlert(messageType));
}

/** If the list changed in the meantime, a subscription may be on two pages: it is not a duplicate. */
function fromCloud(
  listed: readonly Subscription[],
  records: readonly RecordedSubscription[],
): ActualSubscription[] {
  const byId = new Map(listed.map((one) => [one.id, one]));
  return [...byId.values()].map((one) => fromListed(one, records));
}

function fromListed(listed: Subscription, records: readonly RecordedSubscription[]): ActualSubscription {
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
  { id, url }: Omit<ActualSubscription, 'secretDigest'>,
  records: readonly RecordedSubscription[],
): RecordedSubscription | undefined {
  return (
    records.find((record) => record.subscription_id === id) ??
    records.find((record) => record.subscription_id === null && record.url === url)
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

/**
 * Our record of a subscription of this source. That of an alert subscription has no id: the cloud numbers the two kinds
 * separately, and always lists the alert subscriptions.
 */
export function toRecord(source: string, actual: ActualSubscription): RecordedSubscription {
  return {
    subscription_id: (isAlert(actual.messageType) ? undefined : actual.id) ?? null,
    source,
    message_type: actual.messageType,
    url: actual.url,
    application: actual.application,
    status: actual.status,
    secret_digest: actual.secretDigest ?? null,
  };
}
