import type { Applied } from './apply.ts';
import { changesOf, messageTypeOf, type Difference, type Step } from './plan.ts';
import type { Listing, Plan } from './subscriber.ts';

export function viewPlan(source: string, { steps, comparedWith, notOffered }: Plan) {
  return {
    source,
    compared_with: comparedWith,
    in_order: changesOf(steps).length === 0,
    steps: steps.map(viewStep),
    not_offered: notOffered,
  };
}

export function viewStep(step: Step) {
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

export function viewDifference(difference: Difference): Difference {
  return difference.member === 'url' ? { ...difference, from: displayUrl(difference.from) } : difference;
}

/** What was applied, as the operator log records it. */
export const describeApplied = ({ outcomes, unfinished }: Applied) => ({
  tried: outcomes.map(({ change, error }) => ({
    action: change.action,
    message_type: messageTypeOf(change),
    accepted: error === undefined,
  })),
  unfinished: unfinished.length,
});

export function viewListing(source: string, { subscriptions }: Listing) {
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
