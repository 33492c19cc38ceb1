import { changesOf, messageTypeOf, type Difference, type Step } from './plan.ts';
import type { Listing, Plan } from './subscriber.ts';

/** A step of a plan, safe to show: without secrets and without URLs that may contain one. */
export interface StepView {
  readonly action: Step['action'];
  readonly message_type: string;
  readonly url: string;
  /** Null if the cloud has not returned it; absent if the subscription is yet to be created. */
  readonly subscription_id?: string | null;
  /** For an update. For a secret, only that it differs. */
  readonly differences?: readonly Difference[];
  /** The reason for deletion. */
  readonly reason?: string;
}

/** A plan, safe to show. */
export interface PlanView {
  readonly source: string;
  readonly compared_with: Plan['comparedWith'];
  readonly in_order: boolean;
  readonly steps: readonly StepView[];
  /** Message types of the settings that this cloud does not offer. */
  readonly not_offered: readonly string[];
}

/** A subscription in the cloud, safe to show. */
export interface SubscriptionView {
  readonly source: string;
  readonly subscription_id: string | null;
  readonly message_type: string;
  readonly status: string;
  readonly application: string;
  readonly ours: boolean;
  readonly url: string;
}

/** Converts a plan to the form that is safe to show. */
export function viewPlan(source: string, { steps, comparedWith, notOffered }: Plan): PlanView {
  return {
    source,
    compared_with: comparedWith,
    in_order: changesOf(steps).length === 0,
    steps: steps.map(viewStep),
    not_offered: notOffered,
  };
}

/** Converts a step to the form that is safe to show. */
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

/** Converts a difference to the form that is safe to show. */
export function viewDifference(difference: Difference): Difference {
  return difference.member === 'url' ? { ...difference, from: displayUrl(difference.from) } : difference;
}

/** Converts the subscriptions of a list to the form that is safe to show. */
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

/** A URL of our own subscription, safe to show. If others have changed it, it may contain a password or a token. */
export function displayUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text === '' ? '' : '(not a URL)';
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain ? text : `${url.origin}${url.pathname}…`;
}

/** The origin of another application's URL. Its path may be a secret. */
export function displayForeignUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? displayUrl(text) : `${url.origin}/…`;
}
