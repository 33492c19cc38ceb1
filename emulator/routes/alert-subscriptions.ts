import { z } from 'zod';
import { visibleTo } from '../access/visibility.ts';
import { found } from '../http/errors.ts';
import { int64, int64Path } from '../http/int64.ts';
import type { Operations, Work } from '../http/operations.ts';
import { array, longRunningRoute, object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { alertSubscriptionChange, alertSubscriptionRequest } from '../sending/alert-subscriptions.ts';
import type { AlertSubscriptionStore } from '../sending/alert-subscriptions.ts';
import type { World } from '../world/world.ts';

const subscriptionSchema = z.looseObject({ id: int64, url: z.string(), is_subscribe_all: z.boolean() });
const deletionSchema = z.object({
  result: z.enum(['SUCCESS', 'PARTIAL_SUCCESS']),
  reason: z.string().optional(),
  unresolved_deletions: z.array(z.object({ ID: int64 })).optional(),
});
const byId = z.object({ id: int64Path });

interface Needs {
  world: World;
  operations: Operations;
  alertSubscriptions: AlertSubscriptionStore;
}

/** Webhook subscriptions to alerts (vendor's description; the specification names their permissions only). */
export function alertSubscriptionRoutes({ world, operations, alertSubscriptions }: Needs): Route[] {
  const path = '/alert-subscriptions/webhooks';
  const read = ['alert-subscriptions:r'];
  const write = ['alert-subscriptions'];
  const get = (id: string) => found(alertSubscriptions.get(id), 'alert subscription', id);

  return [
    route('GET', path, 'List webhook subscriptions to alerts, with their secrets in clear text', {
      access: read,
      input: z.object({}),
      success: array(subscriptionSchema),
      handle: (_, caller) => (visibleTo(world, caller)(0) ? alertSubscriptions.list() : []),
    }),
    route('POST', path, 'Create a webhook subscription to alerts', {
      access: write,
      input: z.object({ body: alertSubscriptionRequest }),
      success: object(subscriptionSchema),
      creates: true,
      handle: ({ body }) => alertSubscriptions.create(body),
    }),
    longRunningRoute(
      operations,
      'POST',
      `${path}/:delete`,
      'Delete several webhook subscriptions to alerts',
      {
        access: write,
        input: z.object({ body: z.object({ ids: z.array(int64) }) }),
        success: object(deletionSchema),
        begin: ({ body: { ids } }): Work => ({
          cancelable: false,
          hasProgress: false,
          steps: [],
          run() {
            const missing = ids.filter((id) => !alertSubscriptions.remove(id));
            if (missing.length === 0) return { result: 'SUCCESS' };
            return {
              result: 'PARTIAL_SUCCESS',
              reason: 'No such subscription',
              unresolved_deletions: missing.map((id) => ({ ID: id })),
            };
          },
        }),
      },
    ),
    route('GET', `${path}/{id}`, 'Get a webhook subscription to alerts', {
      access: read,
      input: byId,
      success: object(subscriptionSchema),
      handle: ({ id }) => get(id),
    }),
    route('PUT', `${path}/{id}`, 'Change the given members of a webhook subscription to alerts', {
      access: write,
      input: byId.extend({ body: alertSubscriptionChange }),
      success: object(subscriptionSchema),
      handle: ({ id, body }) => alertSubscriptions.update(get(id), body),
    }),
    route('DELETE', `${path}/{id}`, 'Delete a webhook subscription to alerts', {
      access: write,
      input: byId,
      handle({ id }) {
        alertSubscriptions.remove(get(id).id);
      },
    }),
  ];
}
