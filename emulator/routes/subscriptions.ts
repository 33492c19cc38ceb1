import { z } from 'zod';
import { subscriptionSchema } from '../../src/cloud/contract/subscription.ts';
import {
  createSubscriptionsRequestSchema,
  updateSubscriptionRequestSchema,
} from '../contract/subscription.ts';
import { visibleTo } from '../access/visibility.ts';
import { ApiError, found } from '../http/errors.ts';
import type { FaultSwitch } from '../sending/faults.ts';
import { int64Path } from '../http/int64.ts';
import { pageOf, pageQuery, queryRepeated } from '../http/query.ts';
import { array, object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { SubscriptionStore } from '../sending/subscriptions.ts';
import type { World } from '../world/world.ts';

interface Needs {
  world: World;
  subscriptions: SubscriptionStore;
  faults: FaultSwitch;
}

/**
 * Specification, Configuration resources: webhook subscriptions. The call that lists them is not in the specification
 * but in the published interface.
 */
export function subscriptionRoutes({ world, subscriptions, faults }: Needs): Route[] {
  const path = '/subscriptions/webhook';
  const byId = z.object({ id: int64Path });

  const create = route('POST', path, 'Create webhook subscriptions', {
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
    route('GET', path, 'List webhook subscriptions, with their secrets in clear text', {
      access: ['subscriptions-webhook:r'],
      input: z.object({ query: pageQuery() }),
      success: page(subscriptionSchema),
      handle({ query }, caller) {
        if (faults.current().hide_subscriptions) {
          throw new ApiError(
            404,
            'NOT_FOUND',
            'This service does not list subscriptions (simulated by the fault hide_subscriptions)',
          );
        }
        return pageOf(visibleTo(world, caller)(0) ? subscriptions.list() : [], query);
      },
    }),
    route('PUT', `${path}/{id}`, 'Change the given members of a webhook subscription', {
      access: ['subscriptions-webhook'],
      input: byId.extend({ body: updateSubscriptionRequestSchema }),
      success: object(subscriptionSchema),
      handle: ({ id, body }) => found(subscriptions.update(id, body), 'webhook subscription', id),
    }),
    route('DELETE', `${path}/{id}`, 'Delete a webhook subscription', {
      access: ['subscriptions-webhook'],
      input: byId,
      handle({ id }) {
        if (faults.current().delete_by_query) {
          throw new ApiError(405, 'UNIMPLEMENTED', 'Simulated by the fault delete_by_query');
        }
        found(subscriptions.remove(id) ? id : undefined, 'webhook subscription', id);
      },
    }),
    route('DELETE', `${path}/:delete`, 'Delete several webhook subscriptions', {
      access: ['subscriptions-webhook'],
      input: z.object({ query: z.object({ ids: queryRepeated(int64Path) }) }),
      handle({ query: { ids } }) {
        for (const id of ids) found(subscriptions.get(id), 'webhook subscription', id);
        for (const id of ids) subscriptions.remove(id);
      },
    }),
  ];
}
