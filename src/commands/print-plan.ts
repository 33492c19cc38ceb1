import { styleText } from 'node:util';
import { messageTypeOf } from '../subscribe/plan.ts';
import type { Difference, Step } from '../subscribe/plan.ts';
import type { Plan } from '../subscribe/subscriber.ts';

const SIGN = { create: '+', update: '~', delete: '-', keep: ' ' } as const;

const COLOUR = { create: 'green', update: 'yellow', delete: 'red', keep: 'dim' } as const;

const COUNTED = {
  create: 'to create',
  update: 'to update',
  delete: 'to delete',
  keep: 'in order',
} as const;

const ACTIONS = ['create', 'update', 'delete', 'keep'] as const;

/** A plan like a diff: a line for each subscription and one that counts them; coloured on a terminal. */
export function formatPlan(source: string, { steps, comparedWith }: Plan): string {
  const counts = ACTIONS.map(
    (action) => `${steps.filter((step) => step.action === action).length} ${COUNTED[action]}`,
  );
  return [
    styleText('bold', `${source}: ${counts.join(', ')}`),
    ...(comparedWith === 'records'
      ? [
          styleText(
            'dim',
            '  (the cloud does not list subscriptions: compared with what was written down here)',
          ),
        ]
      : []),
    ...steps.map(formatStep),
  ].join('\n');
}

/** One line of a plan. */
export function formatStep(step: Step): string {
  const columns = [SIGN[step.action], messageTypeOf(step).padEnd(23), detailsOf(step)];
  return styleText(COLOUR[step.action], columns.join(' ').trimEnd());
}

function detailsOf(step: Step): string {
  switch (step.action) {
    case 'create':
      return step.desired.url;
    case 'update':
      return `${idOf(step.actual)}: ${step.differences.map(formatDifference).join(', ')}`;
    case 'delete':
      return `${idOf(step.actual)}: ${step.reason}, ${displayUrl(step.actual.url)}`;
    case 'keep':
      return idOf(step.actual);
  }
}

function idOf({ id }: { readonly id: string | undefined }): string {
  return id ?? '(id not known)';
}

function formatDifference(difference: Difference): string {
  if (difference.member === 'secret') return 'secret';
  const { member, from, to } = shown(difference);
  return `${member} ${from === '' ? '(none)' : from} -> ${to}`;
}

/** A plan as data, without any secret. */
export function planToJson(source: string, { steps, comparedWith }: Plan): object {
  return {
    source,
    compared_with: comparedWith,
    in_order: steps.every(({ action }) => action === 'keep'),
    steps: steps.map((step) => ({
      action: step.action,
      message_type: messageTypeOf(step),
      ...(step.action === 'create'
        ? { url: step.desired.url }
        : { subscription_id: step.actual.id ?? null, url: displayUrl(step.actual.url) }),
      ...(step.action === 'update'
        ? { differences: step.differences.map((one) => (one.member === 'secret' ? one : shown(one))) }
        : {}),
      ...(step.action === 'delete' ? { reason: step.reason } : {}),
    })),
  };
}

function shown(difference: Exclude<Difference, { member: 'secret' }>): typeof difference {
  return difference.member === 'url' ? { ...difference, from: displayUrl(difference.from) } : difference;
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
