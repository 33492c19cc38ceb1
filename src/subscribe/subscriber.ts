import type { Logger } from 'pino';
import { type CloudClient, clientOf } from '../cloud/client.ts';
import type { MessageType } from '../events/domain.ts';
import { whileSubscribing } from '../store/sources/subscriptions.ts';
import { offeredOf, readActual, type ActualSubscription } from './actual.ts';
import { applySubscriptions, type Applied, type ApplyContext, type ApplyOptions } from './apply.ts';
import { type DesiredSubscription, createOwnership, desiredSubscriptions } from './desired.ts';
import { planSubscriptions, type Step } from './plan.ts';
import { systemClock } from '../lib/clock.ts';
import type { SourceConfig } from '../config/config.ts';
import type { Db } from '../store/server/database.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';
import { isSameRole } from '../cloud/contract/auth.ts';

/** The desired state of the cloud: the subscriptions from the settings, or none of ours. */
export type Goal = 'subscribed' | 'removed';

/** The origin of a plan's or list's actual state: the cloud's list, or our records if the cloud has none. */
type ReadFrom = 'cloud' | 'records';

export interface Plan {
  readonly steps: readonly Step[];
  readonly comparedWith: ReadFrom;
  /** Message types of the settings that this cloud does not offer. They need no step. */
  readonly notOffered: readonly MessageType[];
}

export interface Listing {
  readonly subscriptions: readonly (ActualSubscription & { readonly isOurs: boolean })[];
  readonly from: ReadFrom;
}

/** The subscriptions of one source. Each call first checks the permissions and rejects with the missing ones. */
export type Subscriber = ReturnType<typeof createSubscriber>;

interface SubscriberOptions extends ApplyContext {
  readonly client: CloudClient;
  readonly desired: readonly DesiredSubscription[];
}

export function createSubscriber({ desired, ...context }: SubscriberOptions) {
  const { client, db, source, isOurs } = context;
  const wanted = (goal: Goal) => (goal === 'subscribed' ? desired : []);
  return {
    source,
    async list(signal?: AbortSignal): Promise<Listing> {
      await demandPermissions(client, ['read'], signal);
      const { from, subscriptions } = await readActual(client, db, source, signal);
      return { from, subscriptions: subscriptions.map((one) => ({ ...one, isOurs: isOurs(one) })) };
    },
    /** Returns what `apply` would do, without changing anything. */
    async plan(goal: Goal, signal?: AbortSignal): Promise<Plan> {
      await demandPermissions(client, ['read'], signal);
      const actual = await readActual(client, db, source, signal);
      const offered = offeredOf(wanted(goal), actual);
      return {
        comparedWith: actual.from,
        steps: planSubscriptions(offered, actual.subscriptions, isOurs),
        notOffered: wanted(goal)
          .filter((one) => !offered.includes(one))
          .map(({ messageType }) => messageType),
      };
    },
    /** Makes the changes for the goal, one process at a time. Safe to repeat. */
    async apply(goal: Goal, options?: ApplyOptions): Promise<Applied> {
      const signal = options?.signal;
      await demandPermissions(client, ['read', 'write'], signal);
      return whileSubscribing(db, source, async () => {
        const actual = await readActual(client, db, source, signal);
        return applySubscriptions(wanted(goal), actual, context, options);
      });
    },
    /** Lets refused credentials be sent once more, because a person wants it. */
    askAgain: () => client.askAgain(),
    /** Ends the login, if any, as the last call. */
    logout: (signal?: AbortSignal) => client.logout(signal),
  };
}

interface SubscribersOptions {
  /** All sources of this installation. Those with API credentials and a secret to register get a subscriber. */
  readonly sources: readonly SourceConfig[];
  /** The names of all sources, if there are more than these: their subscriptions are left alone. */
  readonly allNames?: readonly string[];
  readonly publicUrl: string;
  readonly db: Db;
  readonly logger: Logger;
}

/** Creates a subscriber with its own client for each source. Nothing is sent yet. */
export function createSubscribers({
  sources,
  allNames = [],
  publicUrl,
  db,
  logger,
}: SubscribersOptions): Subscriber[] {
  const names = [...new Set([...sources.map(({ name }) => name), ...allNames])];
  return sources.flatMap(({ name: source, secrets: [secret], cloud, messageTypes }) => {
    if (cloud === undefined || secret === undefined) return [];
    const otherSources = names.filter((name) => name !== source);
    return createSubscriber({
      source,
      client: clientOf(db, { name: source, cloud }, { logger }),
      db,
      clock: systemClock,
      isOurs: createOwnership({ publicUrl, otherSources }),
      desired: desiredSubscriptions({ source, publicUrl, secret, messageTypes }),
    });
  });
}

/** The calls that we make and the permission for each, named as in the specification, "Scope names". */
const NEEDS = {
  read: { method: 'get', permission: 'subscriptions-webhook:r' },
  write: { method: 'post', permission: 'subscriptions-webhook' },
} as const;

type Access = keyof typeof NEEDS;

/** Rejects with the names of the missing permissions, unless the cloud grants this access or can't be queried for it. */
export async function demandPermissions(
  { authorization }: Pick<CloudClient, 'authorization'>,
  accesses: readonly Access[],
  signal?: AbortSignal,
): Promise<void> {
  const missing: string[] = [];
  for (const access of accesses) {
    if (!(await isGranted(authorization, access, signal))) missing.push(NEEDS[access].permission);
  }
  if (missing.length === 0) return;
  throw new Error(
    `the cloud account or API token lacks the permission ${missing.join(' and ')}: grant it in the cloud`,
  );
}

/** Whether a permission that allows the call is granted. True also if that is unknown: the call itself will show it. */
async function isGranted(
  authorization: CloudClient['authorization'],
  access: Access,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const call = { uri: '/subscriptions/webhook', method: NEEDS[access].method };
    const { permissions, roles } = await authorization.checkPermission(call, signal);
    const { scopes, role } = await authorization.tokenInfo(signal);
    if (scopes.length === 0) return roles.length === 0 || roles.some((one) => isSameRole(one, role));
    return permissions.length === 0 || permissions.some(({ name }) => holds(scopes, name));
  } catch (error) {
    // Any error answer means that the permissions are unknown. No answer means that the cloud is unreachable.
    if (error instanceof CloudApiError && error.status !== undefined) return true;
    throw error;
  }
}

/** A name without `:r` is full control. The meaning of `*` in a pattern is not documented, so it may match. */
function holds(scopes: readonly string[], permission: string): boolean {
  return scopes.some(
    (scope) => scope === permission || permission.startsWith(`${scope}:`) || scope.includes('*'),
  );
}
