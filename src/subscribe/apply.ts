import type { Clock } from '../lib/clock.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';
import type { RequestedSubscription, Subscriptions } from '../cloud/subscriptions.ts';
import type { Db } from '../store/server/database.ts';
import {
  forgetSubscription,
  recordSubscription,
  replaceSubscriptions,
} from '../store/sources/subscriptions.ts';
import {
  offeredOf,
  readActual,
  toRecord,
  type Actual,
  type ActualSubscription,
  type SubscriptionApis,
} from './actual.ts';
import { digestOf, isAlert, type DesiredSubscription, type Ownership } from './desired.ts';
import { changesOf, messageTypeOf, planSubscriptions, type Change } from './plan.ts';
import { commandName } from '../lib/text/command-name.ts';

export interface ApplyContext {
  readonly client: SubscriptionApis;
  readonly db: Db;
  readonly source: string;
  readonly isOurs: Ownership;
  readonly clock: Clock;
}

/** A change that was tried. Without an error, the cloud has accepted it. */
export interface Outcome {
  readonly change: Change;
  readonly error: Error | undefined;
}

export interface Applied {
  readonly outcomes: readonly Outcome[];
  /** The changes that are still missing, with their reasons. Empty if the cloud shows all changes. */
  readonly unfinished: readonly Unfinished[];
}

interface Unfinished {
  readonly change: Change;
  readonly reason: string;
}

export interface ApplyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
  /** Called each time the cloud does not yet show the changes, before it is queried again. */
  readonly onWaiting?: (() => void) | undefined;
}

/** The cloud may only queue accepted changes: how long to wait until its list shows them, and how often to query it. */
const READ_BACK_TIMEOUT_MS = 30_000;
const READ_BACK_INTERVAL_MS = 1_000;

/**
 * Changes the cloud's subscriptions to the desired ones, then reads them back until the cloud shows them. If the cloud
 * refuses a change, the others are still made, and a later run continues from there. Each change is recorded as soon as
 * it is accepted.
 */
export async function applySubscriptions(
  desired: readonly DesiredSubscription[],
  actual: Actual,
  context: ApplyContext,
  options: ApplyOptions = {},
): Promise<Applied> {
  const { db, source, isOurs } = context;
  const changesFrom = (now: Actual) =>
    changesOf(planSubscriptions(offeredOf(desired, now), now.subscriptions, isOurs));
  const outcomes: Outcome[] = [];
  let shown = actual;
  for (let changes = changesFrom(actual); changes.length > 0;) {
    for (const change of changes) {
      const outcome = { change, error: await tryChange(change, context, options.signal) };
      outcomes.push(outcome);
      options.onOutcome?.(outcome);
    }
    const isDone = (change: Change) =>
      isReplaced(change, outcomes) || reasonOf(change, outcomes) !== undefined;
    shown = await readBack((now) => changesFrom(now).every(isDone), context, options);
    changes = changesFrom(shown).filter((change) => isReplaced(change, outcomes));
  }
  if (shown.from === 'cloud') {
    const ours = shown.subscriptions.filter(isOurs);
    await replaceSubscriptions(
      db,
      source,
      ours.map((one) => toRecord(source, one)),
    );
  }
  return { outcomes, unfinished: unfinishedOf(changesFrom(shown), shown.from, outcomes) };
}

/**
 * Whether a deletion is the second half of an update, in a cloud that has no updates: the new subscription shows, so that
 * the old one can go without a gap.
 */
function isReplaced(change: Change, outcomes: readonly Outcome[]): boolean {
  if (change.action !== 'delete') return false;
  const last = outcomes.findLast(
    (one) =>
      one.change.action !== 'create' &&
      one.change.actual.id === change.actual.id &&
      one.change.actual.messageType === change.actual.messageType,
  );
  return last?.change.action === 'update' && last.error === undefined;
}

/** Why the cloud refused a change of the same message type, if it did. */
function reasonOf(change: Change, outcomes: readonly Outcome[]): string | undefined {
  return outcomes.find(
    (one) => one.error !== undefined && messageTypeOf(one.change) === messageTypeOf(change),
  )?.error?.message;
}

function unfinishedOf(remaining: readonly Change[], from: Actual['from'], outcomes: readonly Outcome[]) {
  // Our records only repeat the cloud's answers. The cloud's list may show changes that it failed to confirm.
  if (from === 'records') {
    return outcomes.flatMap(({ change, error }) =>
      error === undefined ? [] : [{ change, reason: error.message }],
    );
  }
  const late = `the cloud still does not show the change after ${READ_BACK_TIMEOUT_MS / 1000} s`;
  return remaining.map((change) => ({ change, reason: reasonOf(change, outcomes) ?? late }));
}

/** Makes one change. Returns an error that concerns this change only; throws an error that would stop the others too. */
async function tryChange(change: Change, context: ApplyContext, signal: AbortSignal | undefined) {
  if (change.action === 'create') return await ownError(() => create(change.desired, context, signal));
  const { actual } = change;
  const { id } = actual;
  const forget = () => forgetSubscription(context.db, toRecord(context.source, actual));
  if (id === undefined) {
    // Only `remove` deletes the record: without it, `apply` would create a second subscription.
    if (change.action === 'delete') await forget();
    return new Error(
      "the cloud neither returned this subscription's id nor lists subscriptions: delete it manually in the cloud" +
        (change.action === 'delete'
          ? ''
          : `, then run "${commandName()} subscribe remove --yes" and "${commandName()} subscribe apply"`),
    );
  }
  if (change.action === 'update') return await ownError(() => update(id, change, context, signal));
  const error = await ownError(() => apiOf(actual, context).remove(id, signal));
  if (error !== undefined && error.status !== 404) return error;
  await forget();
  return undefined;
}

function apiOf({ messageType }: { readonly messageType: string }, { client }: ApplyContext): Subscriptions {
  return isAlert(messageType) ? client.alertSubscriptions : client.subscriptions;
}

async function create(
  desired: DesiredSubscription,
  context: ApplyContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [created] = await apiOf(desired, context).create([requestOf(desired)], signal);
  await recordAccepted(desired, created?.id, context);
}

/** Updates a subscription, or creates the new one if the cloud has no updates; then the plan deletes the old one. */
async function update(
  id: string,
  { actual, desired }: Extract<Change, { action: 'update' }>,
  context: ApplyContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const isUpdated = await apiOf(desired, context).update(id, requestOf(desired), signal);
  if (isUpdated) return await recordAccepted(desired, id, context);
  // Where the list shows no secrets, the two are distinguished by their records.
  await record(actual, context);
  await create(desired, context, signal);
}

function recordAccepted(
  { secret, ...desired }: DesiredSubscription,
  id: string | undefined,
  context: ApplyContext,
): Promise<void> {
  return record({ ...desired, id, secretDigest: digestOf(secret) }, context);
}

async function record(actual: ActualSubscription, { db, source }: ApplyContext): Promise<void> {
  const row = toRecord(source, actual);
  // A record without an id replaces none by itself.
  if (row.subscription_id === null) await forgetSubscription(db, row);
  await recordSubscription(db, row);
}

async function ownError(call: () => Promise<void>): Promise<CloudApiError | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (error instanceof CloudApiError) return error;
    throw error;
  }
}

function requestOf(desired: DesiredSubscription): RequestedSubscription {
  const { application, url, secret, messageType, status } = desired;
  return { application, url, secret, message_type: messageType, status };
}

async function readBack(
  isExpected: (now: Actual) => boolean,
  { client, db, source, clock }: ApplyContext,
  { signal, onWaiting }: ApplyOptions,
): Promise<Actual> {
  const deadline = clock.now() + READ_BACK_TIMEOUT_MS;
  for (;;) {
    const now = await readActual(client, db, source, signal);
    if (isExpected(now) || clock.now() >= deadline) return now;
    onWaiting?.();
    await clock.sleep(READ_BACK_INTERVAL_MS, signal);
  }
}
