import { isMissing } from './cloud-api-error.ts';
import { alertSubscriptionSchema, type AlertSubscription } from './contract/alert-subscription.ts';
import type { Subscription } from './contract/subscription.ts';
import type { Call } from './exchange.ts';
import { readCreated, readItems } from './paging.ts';
import { path } from './addresses.ts';
import type { Request } from './request.ts';
import type { RequestedSubscription, Subscriptions } from './subscriptions.ts';
import type { Secrets } from '../secrets.ts';

const ROUTE = '/alert-subscriptions/webhooks';

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
        const answer = await request({ method: 'GET', path: ROUTE, signal });
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
        const answer = await request({ method: 'POST', path: ROUTE, json: bodyOf(one), signal });
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
