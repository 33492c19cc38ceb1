import { isMissing, type CloudApiError } from './cloud-api-error.ts';
import type { Call } from './exchange.ts';
import { listWhole, readCreated, readItems } from './paging.ts';
import { path } from './addresses.ts';
import type { Request } from './request.ts';
import type { Secrets } from '../lib/secrets.ts';
import {
  alertSubscriptionSchema,
  subscriptionSchema,
  type AlertSubscription,
  type Subscription,
} from './contract/subscription.ts';

/** A subscription to be. Newer versions of the service require `status`, which the specification does not have. */
export interface RequestedSubscription extends Record<
  'application' | 'url' | 'secret' | 'message_type',
  string
> {
  readonly status?: 'ENABLED' | 'DISABLED' | undefined;
}

/** The subscriptions in the cloud; not available if this version of the service does not list them. */
type SubscriptionList =
  { available: true; subscriptions: Subscription[] } | { available: false; status: number };

/** Subscriptions of one kind, with `secret` as clear text in both directions. */
export interface Subscriptions {
  list(signal?: AbortSignal): Promise<SubscriptionList>;
  /**
   * Creates subscriptions, enabled by default. Resolves with those in the cloud's answer, which is empty if the cloud
   * only queues them (202); their ids are then found by listing. The call is not repeated after a lost answer, because
   * the cloud does not prevent duplicates.
   */
  create(requests: readonly RequestedSubscription[], signal?: AbortSignal): Promise<readonly Subscription[]>;
  /**
   * Updates one subscription. False if the cloud has no such call, or no such subscription: create it instead, and
   * remove the old one when the cloud shows the new one.
   */
  update(id: string, request: RequestedSubscription, signal?: AbortSignal): Promise<boolean>;
  remove(id: string, signal?: AbortSignal): Promise<void>;
}

const ROUTE = '/subscriptions/webhook';
const PAGE_LIMIT = 100;

/** The webhook subscriptions. The client learns from the cloud's answers which calls it has, and remembers it. */
export function createSubscriptions(request: Request<Call>, secrets: Secrets): Subscriptions {
  let hasUpdate = true;
  let deletesByQuery = false;
  /** Subscriptions whose update answered 404: they are gone, or the cloud has no such call. */
  const notFound = new Set<string>();

  function bodyOf(subscription: RequestedSubscription): RequestedSubscription {
    secrets.add(subscription.secret);
    return { ...subscription, status: subscription.status ?? 'ENABLED' };
  }

  async function removeOtherwise(call: Call, first: CloudApiError): Promise<void> {
    try {
      await request(call);
      deletesByQuery = !deletesByQuery;
    } catch (error) {
      // If this route is missing, a first 404 was about the subscription itself.
      throw first.status === 404 && isMissing(error, [400, 404, 405]) ? first : error;
    }
  }

  return {
    async list(signal) {
      const listCall = { path: ROUTE, limit: PAGE_LIMIT, item: subscriptionSchema, signal };
      try {
        return { available: true, subscriptions: await Array.fromAsync(listWhole(request, listCall)) };
      } catch (error) {
        if (!isMissing(error)) throw error;
        return { available: false, status: error.status };
      }
    },
    async create(requests, signal) {
      const answer = await request({ method: 'POST', path: ROUTE, json: requests.map(bodyOf), signal });
      return readCreated(answer, subscriptionSchema);
    },
    async update(id, subscription, signal) {
      if (!hasUpdate) return false;
      const at = path`/subscriptions/webhook/${id}`;
      try {
        await request({ method: 'PUT', path: at, json: bodyOf(subscription), signal });
        return true;
      } catch (error) {
        if (!isMissing(error)) throw error;
        if (error.status === 405) hasUpdate = false;
        else notFound.add(id);
        return false;
      }
    },
    async remove(id, signal) {
      const byPath: Call = { method: 'DELETE', path: path`/subscriptions/webhook/${id}`, signal };
      const byQuery: Call = { method: 'DELETE', path: `${ROUTE}/:delete`, query: { ids: id }, signal };
      const [usual, other] = deletesByQuery ? [byQuery, byPath] : [byPath, byQuery];
      try {
        await request(usual);
      } catch (error) {
        if (!isMissing(error)) throw error;
        await removeOtherwise(other, error);
      }
      // The subscription was there, so the 404 of its update was about the call.
      if (notFound.delete(id)) hasUpdate = false;
    },
  };
}

const ALERT_ROUTE = '/alert-subscriptions/webhooks';

/**
 * The alert subscriptions in the form of webhook subscriptions: of the message type `ALERT`, without an application. The
 * status `ENABLED` means enabled for all alert policies. The list is not available (404, 405 or 403) in a cloud without them.
 */
export function createAlertSubscriptions(request: Request<Call>, secrets: Secrets): Subscriptions {
  function bodyOf({ url, secret, status = 'ENABLED' }: RequestedSubscription): object {
    secrets.add(secret);
    // The published description requires the list of policies also where it selects nothing.
    return { url, secret, is_enabled: status === 'ENABLED', is_subscribe_all: true, alert_policy_ids: [] };
  }

  return {
    async list(signal) {
      try {
        const answer = await request({ method: 'GET', path: ALERT_ROUTE, signal });
        const { items } = readItems(answer, alertSubscriptionSchema);
        return { available: true, subscriptions: items.map(asSubscription) };
      } catch (error) {
        if (!isMissing(error, [403, 404, 405])) throw error;
        return { available: false, status: error.status };
      }
    },
    async create(requests, signal) {
      const created: Subscription[] = [];
      for (const one of requests) {
        const answer = await request({ method: 'POST', path: ALERT_ROUTE, json: bodyOf(one), signal });
        created.push(...readCreated(answer, alertSubscriptionSchema).map(asSubscription));
      }
      return created;
    },
    async update(id, subscription, signal) {
      const at = path`/alert-subscriptions/webhooks/${id}`;
      try {
        await request({ method: 'PUT', path: at, json: bodyOf(subscription), signal });
        return true;
      } catch (error) {
        if (!isMissing(error)) throw error;
        return false;
      }
    },
    async remove(id, signal) {
      await request({ method: 'DELETE', path: path`/alert-subscriptions/webhooks/${id}`, signal });
    },
  };
}

function asSubscription({ id, url, secret, ...selection }: AlertSubscription): Subscription {
  return { id, url, secret, message_type: 'ALERT', status: statusOf(selection) };
}

function statusOf({
  is_enabled: isEnabled,
  is_subscribe_all: isForAll,
}: Pick<AlertSubscription, 'is_enabled' | 'is_subscribe_all'>): string {
  if (isEnabled === false) return 'DISABLED';
  return isForAll === false ? 'ENABLED for selected policies' : 'ENABLED';
}
