import { styleText } from 'node:util';
import { revealOnLine } from '../../hidden-characters.ts';
import { messageTypeOf, type Difference, type Step } from '../../subscribe/plan.ts';
import { displayUrl, viewDifference } from '../../subscribe/plan-view.ts';
import type { Plan } from '../../subscribe/subscriber.ts';

const SIGN = { create: '+', update: '~', delete: '-', keep: ' ' } as const;

const COLOUR = { create: 'green', update: 'yellow', delete: 'red', keep: 'dim' } as const;

const COUNTED = {
  create: 'to create',
  update: 'to update',
  delete: 'to delete',
  keep: 'unchanged',
} as const;

const TYPE_WIDTH = 'LOCATION_CLIENT_CENTRIC'.length;

const ACTIONS = ['create', 'update', 'delete', 'keep'] as const;

/** Formats a plan like a diff: a line of counts, then a line per subscription; coloured on a terminal. */
export function formatPlan(source: string, { steps, comparedWith, notOffered }: Plan): string {
  const counts = ACTIONS.map(
    (action) => `${steps.filter((step) => step.action === action).length} ${COUNTED[action]}`,
  );
  return [
    styleText('bold', `${source}: ${counts.join(', ')}`),
    ...(comparedWith === 'records'
      ? [styleText('dim', '  (the cloud does not list subscriptions: compared with our own records)')]
      : []),
    ...steps.map(formatStep),
    ...notOffered.map((type) => styleText('dim', `  ${type.padEnd(TYPE_WIDTH)} not offered by this cloud`)),
  ].join('\n');
}

/** Formats one line of a plan. */
export function formatStep(step: Step): string {
  const columns = [SIGN[step.action], messageTypeOf(step).padEnd(TYPE_WIDTH), detailsOf(step)];
  return styleText(COLOUR[step.action], revealOnLine(columns.join(' ').trimEnd()));
}

function detailsOf(step: Step): string {
  switch (step.action) {
    case 'create':
      return step.desired.url;
    case 'update':
      return `${idOf(step.actual)}: ${step.differences.map(viewDifference).map(formatDifference).join(', ')}`;
    case 'delete':
      return `${idOf(step.actual)}: ${step.reason}, ${displayUrl(step.actual.url)}`;
    case 'keep':
      return idOf(step.actual);
  }
}

function idOf({ id }: { readonly id: string | undefined }): string {
  return id ?? '(id unknown)';
}

function formatDifference(difference: Difference): string {
  if (difference.member === 'secret') return 'secret';
  const { member, from, to } = difference;
  return `${member} ${from === '' ? '(none)' : from} -> ${to}`;
}
