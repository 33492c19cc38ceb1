import type { CloudClient } from '../cloud/client.ts';
import { whileSubscribing } from '../store/subscriptions.ts';
import { readActual } from './actual.ts';
import type { ActualSubscription } from './actual.ts';
import { applySubscriptions } from './apply.ts';
import type { Applied, ApplyContext, ApplyOptions } from './apply.ts';
import type { DesiredSubscription } from './desired.ts';
import { demandPermissions } from './permissions.ts';
import { planSubscriptions } from './plan.ts';
import type { Step } from './plan.ts';

/** What to bring the cloud to: the subscriptions of the settings, or none of ours. */
export type Goal = 'subscribed' | 'removed';

/** Where the actual state of a plan or list was read: the cloud's list, or our records where it has none. */
type ReadFrom = 'cloud' | 'records';

export interface Plan {
  readonly steps: readonly Step[];
  readonly comparedWith: ReadFrom;
}

export interface Listing {
  readonly subscriptions: readonly (ActualSubscription & { readonly isOurs: boolean })[];
  readonly from: ReadFrom;
}

/** The subscriptions of one source. Each call first asks whether the permissions suffice, and rejects with what is missing. */
export interface Subscriber {
  readonly source: string;
  /** All that the cloud shows, other applications' included. */
  list(signal?: AbortSignal): Promise<Listing>;
  /** What `apply` would do. Changes nothing. */
  plan(goal: Goal, signal?: AbortSignal): Promise<Plan>;
  /** Reaches the goal, one process at a time. Doing it again changes nothing. */
  apply(goal: Goal, options?: ApplyOptions): Promise<Applied>;
  /** Ends the login, if there was one; the last thing to be done with it. */
  logout(signal?: AbortSignal): Promise<void>;
}

interface SubscriberOptions extends ApplyContext {
  readonly client: CloudClient;
  readonly desired: readonly DesiredSubscription[];
}

export function createSubscriber({ desired, ...context }: SubscriberOptions): Subscriber {
  const { client, db, source, isOurs } = context;
  const wanted = (goal: Goal) => (goal === 'subscribed' ? desired : []);
  return {
    source,
    async list(signal) {
      await demandPermissions(client, ['read'], signal);
      const { from, subscriptions } = await readActual(client, db, source, signal);
      return { from, subscriptions: subscriptions.map((one) => ({ ...one, isOurs: isOurs(one) })) };
    },
    async plan(goal, signal) {
      await demandPermissions(client, ['read'], signal);
      const { from, subscriptions } = await readActual(client, db, source, signal);
      return { comparedWith: from, steps: planSubscriptions(wanted(goal), subscriptions, isOurs) };
    },
    async apply(goal, options) {
      const signal = options?.signal;
      await demandPermissions(client, ['read', 'write'], signal);
      return whileSubscribing(db, source, async () => {
        const actual = await readActual(client, db, source, signal);
        return applySubscriptions(wanted(goal), actual, context, options);
      });
    },
    logout: (signal) => client.logout(signal),
  };
}
