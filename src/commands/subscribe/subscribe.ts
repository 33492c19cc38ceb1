import { styleText } from 'node:util';
import type { Logger } from 'pino';
import { SettingsError, UsageError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import type { Applied, Outcome } from '../../subscribe/apply.ts';
import { changesOf, messageTypeOf, type Difference, type Step } from '../../subscribe/plan.ts';
import {
  describeApplied,
  viewListing,
  viewPlan,
  displayUrl,
  viewDifference,
} from '../../subscribe/plan-view.ts';
import {
  type Goal,
  type Listing,
  type Plan,
  type Subscriber,
  createSubscribers,
} from '../../subscribe/subscriber.ts';
import { joinSources, readStoredSources } from '../../sources/join-sources.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { withStore } from '../../serve/open-store.ts';
import { completeSecrets } from '../../sources/webhook-secret.ts';
import { countOf } from '../../lib/text/units.ts';
import { note, print, printJson, printRows, type Columns } from '../shared/output.ts';
import { stopSignal } from '../shared/process.ts';
import { recordCommand } from '../shared/record.ts';
import { keysOf } from '../../lib/keys-of.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { sourcesWithApi } from '../../sources/cloud-sources.ts';

export interface SubscribeContext {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  readonly source: string | undefined;
}

/** `subscribe plan`: prints what `apply` would do. Resolves with true when there is nothing to do. */
export async function printPlan(context: SubscribeContext, asJson: boolean): Promise<boolean> {
  const plans: [string, Plan][] = [];
  await forEachSource(context, async (subscriber, signal) => {
    plans.push([subscriber.source, await subscriber.plan('subscribed', signal)]);
  });
  if (asJson) printJson(plans.map(([source, plan]) => viewPlan(source, plan)));
  else print(plans.map(([source, plan]) => formatPlan(source, plan)).join('\n\n'));
  return plans.every(([, { steps }]) => changesOf(steps).length === 0);
}

/** `subscribe apply`: applies the configured subscriptions and prints each change. */
export async function applySubscriptions(context: SubscribeContext): Promise<void> {
  await forEachSource(context, (...access) => applyGoal('subscribed', ...access));
}

/** `subscribe remove`: deletes our subscriptions once confirmed, else prints them and throws a UsageError. */
export async function removeSubscriptions(context: SubscribeContext, isConfirmed: boolean): Promise<void> {
  await forEachSource(context, async (subscriber, signal, db) => {
    if (isConfirmed) await applyGoal('removed', subscriber, signal, db);
    else print(formatPlan(subscriber.source, await subscriber.plan('removed', signal)));
  });
  if (!isConfirmed)
    throw new UsageError('nothing was removed: repeat the command with --yes to remove these subscriptions');
}

/** `subscribe list`: prints all subscriptions in the cloud. */
export async function printList(context: SubscribeContext, asJson: boolean): Promise<void> {
  const lists: [string, Listing][] = [];
  await forEachSource(context, async (subscriber, signal) => {
    lists.push([subscriber.source, await subscriber.list(signal)]);
  });
  const rows = lists.flatMap(([source, listing]) => viewListing(source, listing));
  for (const [source, { from }] of lists) {
    if (from === 'records')
      note(`${source}: the cloud does not list subscriptions; this list comes from local records`);
  }
  if (asJson) return printJson(rows);
  if (rows.length === 0) return print('There are no subscriptions.');
  await printRows(rows, COLUMNS);
}

const COLUMNS: Columns<ReturnType<typeof viewListing>[number]> = {
  source: ({ source }) => source,
  id: ({ subscription_id: id }) => id,
  'message type': ({ message_type: type }) => type,
  status: ({ status }) => status,
  application: ({ application }) => application,
  ours: ({ ours }) => (ours ? 'yes' : 'no'),
  url: ({ url }) => url,
};

async function applyGoal(goal: Goal, subscriber: Subscriber, signal: AbortSignal, db: Db): Promise<void> {
  const action = goal === 'subscribed' ? 'subscriptions.apply' : 'subscriptions.remove';
  const { outcomes, unfinished } = await recordCommand(
    db,
    { action, subject: subscriber.source },
    () => applyAndPrint(goal, subscriber, signal),
    describeApplied,
  );
  if (unfinished.length > 0) {
    const reasons = new Set(unfinished.map(({ reason }) => reason));
    throw new Error(
      `${countOf(unfinished.length, 'subscription')} not changed: ${[...reasons].join('; ')}. Run the command again.`,
    );
  }
  print(
    `${subscriber.source}: ${outcomes.length === 0 ? 'nothing to do' : `${countOf(outcomes.length, 'change')} made`}`,
  );
}

function applyAndPrint(goal: Goal, subscriber: Subscriber, signal: AbortSignal): Promise<Applied> {
  let hasPrintedWaiting = false;
  return subscriber.apply(goal, {
    signal,
    onOutcome: printOutcome,
    onWaiting: () => {
      if (!hasPrintedWaiting) note('waiting for the cloud to list the change');
      hasPrintedWaiting = true;
    },
  });
}

function printOutcome({ change, error }: Outcome): void {
  print(formatStep(change));
  if (error !== undefined) note(`  failed: ${error.message}`);
}

/**
 * Does the work for each chosen source, and logs out. After a failure it continues with the other sources, and rejects
 * at the end. Ctrl-C stops the work but not the clean-up.
 */
async function forEachSource(
  { config, logger, source }: SubscribeContext,
  work: (subscriber: Subscriber, signal: AbortSignal, db: Db) => Promise<void>,
): Promise<void> {
  const { publicUrl } = config;
  if (publicUrl === undefined) {
    throw new UsageError('PUBLIC_URL is not set. Set it to the https:// address that the cloud sends to.');
  }
  const signal = stopSignal();
  const failures: Error[] = [];
  await withStore(config, logger, async ({ db }) => {
    const own = await completeSecrets(config);
    const { sources, names, conflicts, problems } = joinSources(
      own.sources,
      await readStoredSources(db),
      config,
    );
    if (conflicts.length > 0) throw new SettingsError(conflicts);
    problems.forEach(note);
    const chosen = new Set(sourcesWithApi(sources, source).map(({ name }) => name));
    for (const subscriber of createSubscribers({ sources, allNames: names, publicUrl, db, logger })) {
      if (!chosen.has(subscriber.source)) continue;
      try {
        await subscriber.askAgain();
        await work(subscriber, signal, db);
      } catch (cause) {
        failures.push(new Error(`source "${subscriber.source}"`, { cause }));
      } finally {
        await subscriber.logout();
      }
    }
  });
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} sources failed`);
  if (failures[0] !== undefined) throw failures[0];
}

/** How a plan shows each kind of step: before its line, in which colour, and in the counts. */
const ACTIONS = {
  create: { sign: '+', colour: 'green', counted: 'to create' },
  update: { sign: '~', colour: 'yellow', counted: 'to update' },
  delete: { sign: '-', colour: 'red', counted: 'to delete' },
  keep: { sign: ' ', colour: 'dim', counted: 'unchanged' },
} as const;

const TYPE_WIDTH = 'LOCATION_CLIENT_CENTRIC'.length;

/** Formats a plan like a diff: a line of counts, then a line per subscription; coloured on a terminal. */
export function formatPlan(source: string, { steps, comparedWith, notOffered }: Plan): string {
  const counts = keysOf(ACTIONS).map(
    (action) => `${steps.filter((step) => step.action === action).length} ${ACTIONS[action].counted}`,
  );
  return [
    styleText('bold', `${source}: ${counts.join(', ')}`),
    ...(comparedWith === 'records'
      ? [styleText('dim', '  (the cloud does not list subscriptions: compared with local records)')]
      : []),
    ...steps.map(formatStep),
    ...notOffered.map((type) => styleText('dim', `  ${type.padEnd(TYPE_WIDTH)} not offered by this cloud`)),
  ].join('\n');
}

function formatStep(step: Step): string {
  const { sign, colour } = ACTIONS[step.action];
  const columns = [sign, messageTypeOf(step).padEnd(TYPE_WIDTH), detailsOf(step)];
  return styleText(colour, revealOnLine(columns.join(' ').trimEnd()));
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

const idOf = ({ id }: { readonly id: string | undefined }): string => id ?? '(id unknown)';

function formatDifference(difference: Difference): string {
  if (difference.member === 'secret') return 'secret';
  const { member, from, to } = difference;
  return `${member} ${from === '' ? '(none)' : from} -> ${to}`;
}
