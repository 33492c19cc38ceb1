import { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import { digitsOf, int64 } from '../http/int64.ts';
import type { Int64 } from '../http/int64.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';
import type { Target } from './outbox.ts';

/** Body of a new alert subscription (vendor's description). */
export const alertSubscriptionRequest = z.object({
  url: z.url({ protocol: /^https?$/ }),
  secret: z.string().default(''),
  is_enabled: z.boolean().default(true),
  is_subscribe_all: z.boolean(),
  alert_policy_ids: z.array(int64),
});

type AlertSubscriptionRequest = z.output<typeof alertSubscriptionRequest>;

/** Body of a change: only the policies are required. */
export const alertSubscriptionChange = alertSubscriptionRequest
  .extend({ secret: z.string(), is_enabled: z.boolean() })
  .partial()
  .required({ alert_policy_ids: true });

/** A webhook subscription to alerts as the API returns it, with its secret in clear text. */
interface AlertSubscription extends AlertSubscriptionRequest {
  id: number;
  create_time: string;
  update_time: string;
}

/** The webhook subscriptions to alerts, in the order of their creation. */
export interface AlertSubscriptionStore {
  list(): AlertSubscription[];
  get(id: string): AlertSubscription | undefined;
  create(request: AlertSubscriptionRequest): AlertSubscription;
  /** Changes the given members. */
  update(old: AlertSubscription, change: z.output<typeof alertSubscriptionChange>): AlertSubscription;
  /** Whether there was such a subscription. */
  remove(id: Int64): boolean;
  targets(): Target[];
}

/** Creates an empty store. */
export function createAlertSubscriptionStore(world: World, clock: Clock): AlertSubscriptionStore {
  const held = new Map<string, AlertSubscription>();

  function hold(subscription: AlertSubscription): AlertSubscription {
    held.set(String(subscription.id), subscription);
    return subscription;
  }

  return {
    list: () => [...held.values()],
    get: (id) => held.get(id),
    create(request) {
      const now = timestamp(clock.now());
      return hold({ id: world.nextId(), create_time: now, update_time: now, ...request });
    },
    update: (old, change) =>
      hold({
        ...old,
        update_time: timestamp(clock.now()),
        url: change.url ?? old.url,
        secret: change.secret ?? old.secret,
        is_enabled: change.is_enabled ?? old.is_enabled,
        is_subscribe_all: change.is_subscribe_all ?? old.is_subscribe_all,
        alert_policy_ids: change.alert_policy_ids,
      }),
    remove: (id) => held.delete(digitsOf(id)),
    targets: () => [...held.values()].map(targetOf),
  };
}

function targetOf({
  id,
  url,
  secret,
  is_enabled,
  is_subscribe_all,
  alert_policy_ids: ids,
}: AlertSubscription): Target {
  const policies = new Set(ids.map(digitsOf));
  return {
    id,
    messageType: 'ALERT',
    url,
    secret,
    isEnabled: is_enabled,
    includes: (alert) => is_subscribe_all || policies.has(String(alert['alert_policy_id'])),
  };
}
