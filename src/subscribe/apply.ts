import type { CloudClient } from '../cloud/client.ts';
import type { Clock } from '../clock.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';
import type { SubscriptionRequest } from '../cloud/contract/subscription.ts';
import type { Db } from '../store/database.ts';
import { forgetSubscription, recordSubscription, replaceSubscriptions } from '../store/subscriptions.ts';
import { readActual, toRecord, type Actual, type ActualSubscription } from './actual.ts';
import { digestOf, type DesiredSubscription, type Ownership } from './desired.ts';
import { changesOf, messageTypeOf, planSubscriptions, type Change } from './plan.ts';

/** What is needed to change the subscriptions of a source. */
export interface ApplyContext {
  readonly client: Pick<CloudClient, 'subscriptions'>;
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

/** The result of applying a plan. */
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
  /** Called with each change after it was tried. */
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
  const outcomes: Outcome[] = [];
  for (const change of changesOf(planSubscriptions(desired, actual.subscriptions, isOurs))) {
    const outcome = { change, error: await tryChange(change, context, options.signal) };
    outcomes.push(outcome);
    options.onOutcome?.(outcome);
  }
  const shown = outcomes.length === 0 ? actual : await readBack(desired, outcomes, context, options);
  if (shown.from === 'cloud') {
    const ours = shown.subscriptions.filter(isOurs);
    await replaceSubscriptions(
      db,
      source,
      ours.map((one) => toRecord(source, one)),
    );
  }
  return { outcomes, unfinished: unfinishedOf(desired, shown, outcomes, isOurs) };
}

function unfinishedOf(
  desired: readonly DesiredSubscription[],
  shown: Actual,
  outcomes: readonly Outcome[],
  isOurs: Ownership,
): Unfinished[] {
  const refused = outcomes.flatMap(({ change, error }) =>
    error === undefined ? [] : [{ change, reason: error.message }],
  );
  // Our records only repeat the cloud's answers. The cloud's list may show changes that it failed to confirm.
  if (shown.from === 'records') return refused;
  const late = `the cloud still does not show the change after ${READ_BACK_TIMEOUT_MS / 1000} s`;
  return changesOf(planSubscriptions(desired, shown.subscriptions, isOurs)).map((change) => {
    const answer = refused.find((one) => messageTypeOf(one.change) === messageTypeOf(change));
    return { change, reason: answer?.reason ?? late };
  });
}

/** Makes one change. Returns an error that concerns this change only; throws an error that would stop the others too. */
async function tryChange(
  change: Change,
  context: ApplyContext,
  signal: AbortSignal | undefined,
): Promise<Error | undefined> {
  if (change.action === 'create') return await ownError(() => create(change.desired, context, signal));
  const { actual } = change;
  const { id } = actual;
  const forget = () => forgetSubscription(context.db, toRecord(context.source, actual));
  if (id === undefined) {
    // Only `remove` deletes the record: without it, `apply` would create a second subscription.
    if (change.action === 'delete') await forget();
    return new Error(
      'the cloud has neither returned the id of this subscription nor lists subscriptions: delete it manually in the cloud' +
        (change.action === 'delete'
          ? ''
          : ', then run "xiq-sink subscribe remove --yes" and "xiq-sink subscribe apply"'),
    );
  }
  const error = await ownError(() =>
    change.action === 'update'
      ? update(id, change.desired, context, signal)
      : context.client.subscriptions.remove(id, signal),
  );
  const isGone = error instanceof CloudApiError && error.status === 404;
  if (isGone || (error === undefined && change.action === 'delete')) await forget();
  return isGone && change.action === 'delete' ? undefined : error;
}

async function create(
  desired: DesiredSubscription,
  { client, db, source }: ApplyContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [created] = await client.subscriptions.create([requestOf(desired)], signal);
  await recordSubscription(db, toRecord(source, asAccepted(desired, created?.id)));
}

async function update(
  id: string,
  desired: DesiredSubscription,
  { client, db, source }: ApplyContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  await client.subscriptions.update(id, requestOf(desired), signal);
  await recordSubscription(db, toRecord(source, asAccepted(desired, id)));
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

function requestOf(desired: DesiredSubscription): SubscriptionRequest {
  const { application, url, secret, messageType, status } = desired;
  return { application, url, secret, message_type: messageType, status };
}

function asAccepted({ secret, ...desired }: DesiredSubscription, id: string | undefined): ActualSubscription {
  return { ...desired, id, secretDigest: digestOf(secret) };
}

/** Reads the subscriptions until every accepted change shows or the time is up. */
async function readBack(
  desired: readonly DesiredSubscription[],
  outcomes: readonly Outcome[],
  { client, db, source, isOurs, clock }: ApplyContext,
  { signal, onWaiting }: ApplyOptions,
): Promise<Actual> {
  const refused = outcomes.filter(({ error }) => error !== undefined);
  const refusedTypes = new Set(refused.map(({ change }) => messageTypeOf(change)));
  const deadline = clock.now() + READ_BACK_TIMEOUT_MS;
  for (;;) {
    const actual = await readActual(client, db, source, signal);
    const remaining = changesOf(planSubscriptions(desired, actual.subscriptions, isOurs));
    const isShown = remaining.every((change) => refusedTypes.has(messageTypeOf(change)));
    if (isShown || clock.now() >= deadline) return actual;
    onWaiting?.();
    await clock.sleep(READ_BACK_INTERVAL_MS, signal);
  }
}
