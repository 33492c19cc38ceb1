import { z } from 'zod';
import {
  createSubscriptionsRequestSchema,
  subscriptionSchema,
  updateSubscriptionRequestSchema,
} from '../src/cloud/contract/subscription.ts';
import { ApiError, found } from './api-error.ts';
import type { FaultSwitch } from './faults.ts';
import { int64Path } from './int64.ts';
import { pageOf, pageQuery } from './paging.ts';
import { array, empty, object, page, route } from './route.ts';
import type { Route } from './route.ts';
import type { SubscriptionStore } from './subscriptions.ts';

interface Needs {
  subscriptions: SubscriptionStore;
  faults: FaultSwitch;
}

/**
 * Specification, Configuration resources: webhook subscriptions. The specification does not list them; the published
 * interface does, page by page.
 */
export function subscriptionRoutes({ subscriptions, faults }: Needs): Route[] {
  const tag = 'Configuration resources';
  const path = '/subscriptions/webhook';
  const byId = z.object({ id: int64Path });

  const create = route({
    method: 'POST',
    path,
    tag,
    summary: 'Create webhook subscriptions',
    access: ['subscriptions-webhook'],
    input: z.object({ body: createSubscriptionsRequestSchema }),
    success: array(subscriptionSchema),
    creates: true,
    handle: ({ body }) => body.map((request) => subscriptions.create(request)),
  });

  return [
    {
      ...create,
      answer(parts) {
        const reply = create.answer(parts);
        return faults.current().queue_creates ? { status: 202 } : reply;
      },
    },
    route({
      method: 'GET',
      path,
      tag,
      summary: 'List webhook subscriptions, secrets in clear',
      access: ['subscriptions-webhook:r'],
      input: z.object({ query: pageQuery() }),
      success: page(subscriptionSchema),
      handle({ query }) {
        if (faults.current().hide_subscriptions) {
          throw new ApiError(404, 'NOT_FOUND', 'This service does not list subscriptions');
        }
        return pageOf(subscriptions.list(), query);
      },
    }),
    route({
      method: 'PUT',
      path: `${path}/{id}`,
      tag,
      summary: 'Change a webhook subscription: the members that are given',
      access: ['subscriptions-webhook'],
      input: byId.extend({ body: updateSubscriptionRequestSchema }),
      success: object(subscriptionSchema),
      handle: ({ id, body }) => found(subscriptions.update(id, body), 'webhook subscription', id),
    }),
    route({
      method: 'DELETE',
      path: `${path}/{id}`,
      tag,
      summary: 'Delete a webhook subscription',
      access: ['subscriptions-webhook'],
      input: byId,
      success: empty(),
      handle({ id }) {
        found(subscriptions.remove(id) ? id : undefined, 'webhook subscription', id);
      },
    }),
  ];
}
