import { messageTypeOf } from './plan.ts';
import type { Difference, Step } from './plan.ts';
import type { Listing, Plan } from './subscriber.ts';

/** A step of a plan as it may be shown: no secret, and no url that may hold one. */
export interface StepView {
  readonly action: Step['action'];
  readonly message_type: string;
  readonly url: string;
  /** Null while the cloud has not told it; absent of what is yet to be created. */
  readonly subscription_id?: string | null;
  /** Of an update; of a secret only that it differs. */
  readonly differences?: readonly Difference[];
  /** Why it is deleted. */
  readonly reason?: string;
}

/** A plan as data, without any secret. */
export interface PlanView {
  readonly source: string;
  readonly compared_with: Plan['comparedWith'];
  readonly in_order: boolean;
  readonly steps: readonly StepView[];
}

/** A subscription that the cloud holds, as it may be shown. */
export interface SubscriptionView {
  readonly source: string;
  readonly subscription_id: string | null;
  readonly message_type: string;
  readonly status: string;
  readonly application: string;
  readonly ours: boolean;
  readonly url: string;
}

/** A plan as it may be shown. */
export function viewPlan(source: string, { steps, comparedWith }: Plan): PlanView {
  return {
    source,
    compared_with: comparedWith,
    in_order: steps.every(({ action }) => action === 'keep'),
    steps: steps.map(viewStep),
  };
}

/** A step as it may be shown. */
export function viewStep(step: Step): StepView {
  return {
    action: step.action,
    message_type: messageTypeOf(step),
    ...(step.action === 'create'
      ? { url: step.desired.url }
      : { subscription_id: step.actual.id ?? null, url: displayUrl(step.actual.url) }),
    ...(step.action === 'update' ? { differences: step.differences.map(viewDifference) } : {}),
    ...(step.action === 'delete' ? { reason: step.reason } : {}),
  };
}

/** A difference as it may be shown. */
export function viewDifference(difference: Difference): Difference {
  return difference.member === 'url' ? { ...difference, from: displayUrl(difference.from) } : difference;
}

/** The subscriptions of a list as they may be shown. */
export function viewListing(source: string, { subscriptions }: Listing): readonly SubscriptionView[] {
  return subscriptions.map((one) => ({
    source,
    subscription_id: one.id ?? null,
    message_type: one.messageType,
    status: one.status,
    application: one.application,
    ours: one.isOurs,
    url: one.isOurs ? displayUrl(one.url) : displayForeignUrl(one.url),
  }));
}

/** The url of a subscription of ours as it may be shown: one that others have changed may hold a password or a token. */
export function displayUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text === '' ? '' : '(not a URL)';
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain ? text : `${url.origin}${url.pathname}…`;
}

/** No more of another application's url than where it leads to: its path may be all that protects it. */
export function displayForeignUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? displayUrl(text) : `${url.origin}/…`;
}
