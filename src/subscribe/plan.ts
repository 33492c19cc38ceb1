import type { ActualSubscription } from './actual.ts';
import { digestOf, type DesiredSubscription, type Ownership } from './desired.ts';

/** A member that differs from the desired one. For a secret, only that it differs. */
export type Difference =
  | { readonly member: 'application' | 'url' | 'status'; readonly from: string; readonly to: string }
  | { readonly member: 'secret' };

/** What to do with one subscription. */
export type Step =
  | { readonly action: 'keep'; readonly actual: ActualSubscription }
  | { readonly action: 'create'; readonly desired: DesiredSubscription }
  | {
      readonly action: 'update';
      readonly actual: ActualSubscription;
      readonly desired: DesiredSubscription;
      readonly differences: readonly Difference[];
    }
  | {
      readonly action: 'delete';
      readonly actual: ActualSubscription;
      readonly reason: 'duplicate' | 'not wanted';
    };

export type Change = Exclude<Step, { action: 'keep' }>;

/**
 * Returns the steps from the actual subscriptions to the desired ones, in order: deletions come last, when all others are
 * as desired. Of several subscriptions for one message type, the one closest to the desired one stays, and of equally
 * close ones the oldest. Other applications' subscriptions are left out.
 */
export function planSubscriptions(
  desired: readonly DesiredSubscription[],
  actual: readonly ActualSubscription[],
  isOurs: Ownership,
): Step[] {
  const ours = actual.filter(isOurs);
  const kept = desired.map((wanted) => keepOne(wanted, ours));
  const spared = new Set(kept.map((step) => ('actual' in step ? step.actual : undefined)));
  const wantedTypes = new Set<string>(desired.map(({ messageType }) => messageType));
  const surplus = ours
    .filter((subscription) => !spared.has(subscription))
    .map((subscription): Step => ({
      action: 'delete',
      actual: subscription,
      reason: wantedTypes.has(subscription.messageType) ? 'duplicate' : 'not wanted',
    }));
  return [...kept, ...surplus];
}

export const changesOf = (steps: readonly Step[]): Change[] => steps.filter((step) => step.action !== 'keep');

/** The message type of a step, in the cloud's spelling. */
export function messageTypeOf(step: Step): string {
  return step.action === 'create' ? step.desired.messageType : step.actual.messageType;
}

/** What is wrong with a subscription, in words. */
export function describeChange(change: Change): string {
  const type = messageTypeOf(change);
  switch (change.action) {
    case 'create':
      return `${type} is missing`;
    case 'update':
      return `${type} has a different ${change.differences.map(({ member }) => member).join(' and ')}`;
    case 'delete':
      return `${type} is ${change.reason}`;
  }
}

function keepOne(desired: DesiredSubscription, ours: readonly ActualSubscription[]): Step {
  const [nearest] = ours
    .filter(({ messageType }) => messageType === desired.messageType)
    .map((actual) => ({ actual, differences: differencesOf(desired, actual) }))
    .sort((a, b) => a.differences.length - b.differences.length || byAge(a.actual, b.actual));
  if (nearest === undefined) return { action: 'create', desired };
  const { actual, differences } = nearest;
  return differences.length === 0
    ? { action: 'keep', actual }
    : { action: 'update', actual, desired, differences };
}

function differencesOf(desired: DesiredSubscription, actual: ActualSubscription): Difference[] {
  const members = (['application', 'url', 'status'] as const)
    .filter((member) => actual[member] !== desired[member])
    .map((member): Difference => ({ member, from: actual[member], to: desired[member] }));
  return actual.secretDigest === digestOf(desired.secret) ? members : [...members, { member: 'secret' }];
}

/** Smaller ids first; they may exceed a JavaScript number. One without an id comes last, because it can't be changed. */
function byAge({ id: a }: ActualSubscription, { id: b }: ActualSubscription): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return a.length - b.length || (a < b ? -1 : 1);
}
