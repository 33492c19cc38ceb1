import type { CloudClient } from '../cloud/client.ts';
import type { Clock } from '../clock.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';
import type { SubscriptionRequest } from '../cloud/contract/subscription.ts';
import type { Db } from '../store/database.ts';
import { forgetSubscription, recordSubscription, replaceSubscriptions } from '../store/subscriptions.ts';
import { readActual, toRecord } from './actual.ts';
import type { Actual, ActualSubscription } from './actual.ts';
import { digestOf } from './desired.ts';
import type { DesiredSubscription } from './desired.ts';
import type { Ownership } from './ownership.ts';
import { changesOf, messageTypeOf, planSubscriptions } from './plan.ts';
import type { Change } from './plan.ts';

/** What the subscriptions of a source are changed with. */
export interface ApplyContext {
  readonly client: Pick<CloudClient, 'subscriptions'>;
  readonly db: Db;
  readonly source: string;
  readonly isOurs: Ownership;
  readonly clock: Clock;
}

/** One change that was tried; without an error the cloud has accepted it. */
export interface Outcome {
  readonly change: Change;
  readonly error: Error | undefined;
}

/** What became of a plan. */
export interface Applied {
  readonly outcomes: readonly Outcome[];
  /** What is still not as desired, each with the reason. Empty: all is done, and the cloud shows it. */
  readonly unfinished: readonly Unfinished[];
}

interface Unfinished {
  readonly change: Change;
  readonly reason: string;
}

export interface ApplyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told of each change as soon as it was tried. */
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
  /** Told each time the cloud does not show yet what it has accepted, which it is then asked again. */
  readonly onWaiting?: (() => void) | undefined;
}

/** The cloud may only queue what it accepts: its list gets this long to show it, and is asked this often. */
const READ_BACK_TIMEOUT_MS = 30_000;
const READ_BACK_INTERVAL_MS = 1_000;

/**
 * Brings the cloud from these actual subscriptions to the desired ones, then reads back until it shows them. What the
 * cloud refuses does not end it: the rest is done, and a later run goes on from what is then there. Each change is
 * written down as soon as it is accepted.
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
  // Our records know no better than what the cloud answered; its list may show what it had failed to confirm.
  if (shown.from === 'records') return refused;
  const late = `the cloud does not show it after ${READ_BACK_TIMEOUT_MS / 1000} s`;
  return changesOf(planSubscriptions(desired, shown.subscriptions, isOurs)).map((change) => {
    const answer = refused.find((one) => messageTypeOf(one.change) === messageTypeOf(change));
    return { change, reason: answer?.reason ?? late };
  });
}

/** Makes one change. Gives the error that stands for this change alone; throws what would stop the others, too. */
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
    // Only `remove` gives up the record: without it, `apply` would make a second one beside the first.
    if (change.action === 'delete') await forget();
    return new Error(
      'the cloud has neither told its id nor lists subscriptions: delete it by hand in the cloud' +
        (change.action === 'delete' ? '' : ', then "subscribe remove --yes" and "subscribe apply"'),
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

function requestOf({
  application,
  url,
  secret,
  messageType,
  status,
}: DesiredSubscription): SubscriptionRequest {
  return { application, url, secret, message_type: messageType, status };
}

function asAccepted({ secret, ...desired }: DesiredSubscription, id: string | undefined): ActualSubscription {
  return { ...desired, id, secretDigest: digestOf(secret) };
}

/** What there is once every accepted change shows, or once the time for it is up. */
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
