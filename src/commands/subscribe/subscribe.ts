import type { Logger } from 'pino';
import type { Config, SourceConfig } from '../../config.ts';
import { UsageError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import type { Applied, Outcome } from '../../subscribe/apply.ts';
import { changesOf, messageTypeOf } from '../../subscribe/plan.ts';
import { viewListing, viewPlan } from '../../subscribe/plan-view.ts';
import type { Goal, Listing, Plan, Subscriber } from '../../subscribe/subscriber.ts';
import { withStore } from '../../serve/open-store.ts';
import { commandOperator } from '../operator.ts';
import { note, print } from '../print.ts';
import { formatPlan, formatStep } from './print-plan.ts';
import { createSubscribers } from '../../subscribe/create-subscribers.ts';
import { formatTable } from '../table.ts';
import { completeSecrets } from '../../serve/webhook-secret.ts';

/** Where a `subscribe` command works. */
export interface SubscribeContext {
  readonly config: Config;
  readonly logger: Logger;
  /** The source to work on; undefined: all that have an API. */
  readonly source: string | undefined;
}

/** `subscribe plan`: prints what `apply` would do. Resolves with whether there is nothing to do. */
export async function printPlan(context: SubscribeContext, asJson: boolean): Promise<boolean> {
  const plans: [string, Plan][] = [];
  await forEachSource(context, async (subscriber, signal) => {
    plans.push([subscriber.source, await subscriber.plan('subscribed', signal)]);
  });
  if (asJson) printJson(plans.map(([source, plan]) => viewPlan(source, plan)));
  else print(plans.map(([source, plan]) => formatPlan(source, plan)).join('\n\n'));
  return plans.every(([, { steps }]) => changesOf(steps).length === 0);
}

/** `subscribe apply`: makes the cloud's subscriptions what the settings say, and says what it does. */
export async function applySubscriptions(context: SubscribeContext): Promise<void> {
  await forEachSource(context, (subscriber, signal, db) => reach('subscribed', { subscriber, db }, signal));
}

/** `subscribe remove`: deletes our subscriptions, once it is sure that this is meant. */
export async function removeSubscriptions(context: SubscribeContext, isSure: boolean): Promise<void> {
  await forEachSource(context, async (subscriber, signal, db) => {
    if (isSure) await reach('removed', { subscriber, db }, signal);
    else print(formatPlan(subscriber.source, await subscriber.plan('removed', signal)));
  });
  if (!isSure) throw new UsageError('nothing was removed: the same command with --yes removes these');
}

/** `subscribe list`: prints the subscriptions that the cloud holds. */
export async function printList(context: SubscribeContext, asJson: boolean): Promise<void> {
  const lists: [string, Listing][] = [];
  await forEachSource(context, async (subscriber, signal) => {
    lists.push([subscriber.source, await subscriber.list(signal)]);
  });
  const rows = lists.flatMap(([source, listing]) => viewListing(source, listing));
  for (const [source, { from }] of lists) {
    if (from === 'records')
      note(`${source}: the cloud does not list subscriptions; these were written down here`);
  }
  if (asJson) return printJson(rows);
  if (rows.length === 0) return print('no subscriptions');
  const columns = ['source', 'id', 'message type', 'status', 'application', 'ours', 'url'];
  const cells = rows.map((row) => [
    row.source,
    row.subscription_id,
    row.message_type,
    row.status,
    row.application,
    row.ours ? 'yes' : 'no',
    row.url,
  ]);
  print(formatTable(columns, cells));
}

/** One source's subscriptions, and where what is done to them is written down. */
interface Reached {
  readonly subscriber: Subscriber;
  readonly db: Db;
}

async function reach(goal: Goal, { subscriber, db }: Reached, signal: AbortSignal): Promise<void> {
  const action = goal === 'subscribed' ? 'subscriptions.apply' : 'subscriptions.remove';
  const { outcomes, unfinished } = await recordAction(
    db,
    { operator: commandOperator(), action, subject: subscriber.source },
    () => applyAloud(goal, subscriber, signal),
    ({ outcomes, unfinished }) => ({
      tried: outcomes.map(({ change, error }) => ({
        action: change.action,
        message_type: messageTypeOf(change),
        accepted: error === undefined,
      })),
      unfinished: unfinished.length,
    }),
  );
  if (unfinished.length > 0) {
    const reasons = new Set(unfinished.map(({ reason }) => reason));
    throw new Error(
      `${unfinished.length} subscriptions are not done, run it again: ${[...reasons].join('; ')}`,
    );
  }
  print(`${subscriber.source}: ${outcomes.length === 0 ? 'nothing to do' : `${outcomes.length} done`}`);
}

function applyAloud(goal: Goal, subscriber: Subscriber, signal: AbortSignal): Promise<Applied> {
  let isToldOfWaiting = false;
  return subscriber.apply(goal, {
    signal,
    onOutcome: printOutcome,
    onWaiting: () => {
      if (!isToldOfWaiting) note('waiting for the cloud to show it');
      isToldOfWaiting = true;
    },
  });
}

function printOutcome({ change, error }: Outcome): void {
  print(formatStep(change));
  if (error !== undefined) note(`  not done: ${error.message}`);
}

/**
 * Does the work for each chosen source, and logs out. One source's failure does not keep the others from their turn;
 * it rejects in the end. Ctrl-C breaks off the work, not the clean-up.
 */
async function forEachSource(
  { config, logger, source }: SubscribeContext,
  work: (subscriber: Subscriber, signal: AbortSignal, db: Db) => Promise<void>,
): Promise<void> {
  const { publicUrl } = config;
  const chosen = chooseSources(config.sources, source);
  if (publicUrl === undefined) {
    throw new UsageError('PUBLIC_URL is not set: the cloud has to know which address to send to');
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const failures: Error[] = [];
  await withStore(config, logger, async ({ db }) => {
    const { sources } = await completeSecrets(config);
    for (const subscriber of createSubscribers({ sources, publicUrl, db, logger })) {
      if (!chosen.has(subscriber.source)) continue;
      try {
        await work(subscriber, stop.signal, db);
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

function chooseSources(sources: readonly SourceConfig[], wanted: string | undefined): ReadonlySet<string> {
  const withApi = sources.filter(({ cloud }) => cloud !== undefined).map(({ name }) => name);
  if (withApi.length === 0) {
    throw new UsageError(
      'no API of the cloud is configured: set CLOUD_API_URL with CLOUD_API_TOKEN, or with CLOUD_USERNAME and CLOUD_PASSWORD',
    );
  }
  if (wanted === undefined) return new Set(withApi);
  if (withApi.includes(wanted)) return new Set([wanted]);
  throw new UsageError(
    `no source "${wanted}" with an API of the cloud is configured (there is: ${withApi.join(', ')})`,
  );
}

function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}
