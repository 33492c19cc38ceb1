import type { SubscriptionRequest } from '../contract/subscription.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { timestamp } from '../world/seeding.ts';
import type { Target } from './outbox.ts';
import type { World } from '../world/world.ts';

/** A subscription as the API returns it, with its secret in clear text. */
interface HeldSubscription extends Required<SubscriptionRequest> {
  id: number;
  create_time: string;
  update_time: string;
  data_type: string;
}

/** The webhook subscriptions of the account, in the order of their creation. Duplicates are allowed. */
export interface SubscriptionStore {
  list(): readonly HeldSubscription[];
  get(id: string): HeldSubscription | undefined;
  create(request: SubscriptionRequest): HeldSubscription;
  /** Changes the given members. Undefined if there is no such subscription. */
  update(id: string, changes: SubscriptionChanges): HeldSubscription | undefined;
  /** Whether there was such a subscription. */
  remove(id: string): boolean;
  targets(): Target[];
}

/** The members to change. A member that is undefined stays. */
type SubscriptionChanges = {
  [Member in keyof SubscriptionRequest]?: SubscriptionRequest[Member] | undefined;
};

/** Creates an empty store. */
export function createSubscriptionStore(world: World, clock: Clock): SubscriptionStore {
  const held = new Map<string, HeldSubscription>();

  function hold(subscription: HeldSubscription): HeldSubscription {
    held.set(String(subscription.id), subscription);
    return subscription;
  }

  return {
    list: () => [...held.values()],
    get: (id) => held.get(id),
    create(request) {
      const now = timestamp(clock.now());
      return hold({
        id: world.nextId(),
        create_time: now,
        update_time: now,
        ...request,
        status: request.status ?? 'ENABLED',
        data_type: dataType(request.message_type),
      });
    },
    update(id, changes) {
      const old = held.get(id);
      if (old === undefined) return undefined;
      const message_type = changes.message_type ?? old.message_type;
      return hold({
        ...old,
        update_time: timestamp(clock.now()),
        application: changes.application ?? old.application,
        url: changes.url ?? old.url,
        secret: changes.secret ?? old.secret,
        message_type,
        status: changes.status ?? old.status,
        data_type: dataType(message_type),
      });
    },
    remove: (id) => held.delete(id),
    targets: () =>
      [...held.values()].map(({ id, message_type, url, secret, status }) => ({
        id,
        messageType: message_type,
        url,
        secret,
        isEnabled: status === 'ENABLED',
        includes: () => true,
      })),
  };
}

/** The data type of a message type: `LOCATION`, `AUDIT_LOG`, `GDPR_LOG` and so on. */
function dataType(messageType: string): string {
  return messageType.startsWith('LOCATION') ? 'LOCATION' : messageType.replace(/_ALL$/, '');
}
