import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import { subscriptionSchema, type Subscription, type SubscriptionRequest } from './contract/subscription.ts';
import type { Answer, Call } from './exchange.ts';
import { jsonOrNothing } from './json.ts';
import { listAll } from './paging.ts';
import { path } from './addresses.ts';
import type { Request } from './request.ts';
import type { Secrets } from '../secrets.ts';

/** The subscriptions in the cloud; not available if this version of the service does not list them. */
type SubscriptionList =
  { available: true; subscriptions: Subscription[] } | { available: false; status: 404 | 405 };

/** Webhook subscriptions, with `secret` as clear text in both directions. */
export interface Subscriptions {
  list(signal?: AbortSignal): Promise<SubscriptionList>;
  /**
   * Creates subscriptions, enabled by default. Resolves with those in the cloud's answer, which is empty if the cloud
   * only queues them (202); their ids are then found by listing. The call is not repeated after a lost answer, because
   * the cloud does not prevent duplicates.
   */
  create(requests: readonly SubscriptionRequest[], signal?: AbortSignal): Promise<Subscription[]>;
  /** Replaces one subscription; resolves with its new state if the cloud's answer contains it. */
  update(id: string, request: SubscriptionRequest, signal?: AbortSignal): Promise<Subscription | undefined>;
  /** Deletes one subscription by the one of the two known routes that the cloud has. */
  remove(id: string, signal?: AbortSignal): Promise<void>;
}

const ROUTE = '/subscriptions/webhook';
const PAGE_LIMIT = 100;

export function createSubscriptions(request: Request<Call>, secrets: Secrets): Subscriptions {
  function bodyOf(subscription: SubscriptionRequest): SubscriptionRequest {
    secrets.add(subscription.secret);
    return { ...subscription, status: subscription.status ?? 'ENABLED' };
  }

  return {
    async list(signal) {
      const listCall = { path: ROUTE, limit: PAGE_LIMIT, item: subscriptionSchema, signal };
      try {
        return { available: true, subscriptions: await Array.fromAsync(listAll(request, listCall)) };
      } catch (error) {
        const status = statusOf(error);
        if (status !== 404 && status !== 405) throw error;
        return { available: false, status };
      }
    },
    async create(requests, signal) {
      return subscriptionsIn(
        await request({ method: 'POST', path: ROUTE, json: requests.map(bodyOf), signal }),
      );
    },
    async update(id, subscription, signal) {
      const at = path`/subscriptions/webhook/${id}`;
      return subscriptionsIn(
        await request({ method: 'PUT', path: at, json: bodyOf(subscription), signal }),
      )[0];
    },
    async remove(id, signal) {
      try {
        await request({ method: 'DELETE', path: path`/subscriptions/webhook/${id}`, signal });
      } catch (error) {
        if (![404, 405].includes(statusOf(error) ?? 0)) throw error;
        await removeByQuery(id, error, signal);
      }
    },
  };

  async function removeByQuery(id: string, first: unknown, signal: AbortSignal | undefined): Promise<void> {
    try {
      await request({ method: 'DELETE', path: `${ROUTE}/:delete`, query: { ids: id }, signal });
    } catch (error) {
      // If this route is missing, the first 404 was about the subscription itself.
      const isRouteMissing = [400, 404, 405].includes(statusOf(error) ?? 0);
      throw isRouteMissing && statusOf(first) === 404 ? first : error;
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof CloudApiError ? error.status : undefined;
}

const answerSchema = z.union([z.array(subscriptionSchema), subscriptionSchema.transform((one) => [one])]);

/** The subscriptions in an answer. The change is made whatever the body looks like, so an empty list is no error. */
function subscriptionsIn({ text }: Answer): Subscription[] {
  return answerSchema.safeParse(jsonOrNothing(text)).data ?? [];
}
