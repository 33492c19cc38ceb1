import { HttpError } from '../errors.ts';
import type { Db } from './database.ts';
import { addDestination, forgetDestination, moveCursor, setState } from './destinations.ts';
import { recordAction } from './operator-log.ts';
import type { Operator } from './operator-log.ts';
import { endOfEvents, positionBefore } from './read-events.ts';
import type { OperatorActionName } from './tables.ts';

/** Which destination a person changes. Every change is in the operator log. */
export interface DestinationChange {
  readonly db: Db;
  readonly operator: Operator;
  /** The names of the destinations in the settings. */
  readonly configured: readonly string[];
  readonly name: string;
}

/**
 * Pauses or resumes: whoever forwards stops behind the batch in hand, or goes on within a second, also where the
 * destination had refused us. Throws HttpError 404 when neither settings nor database know the name.
 */
export async function changeDestinationState(
  change: DestinationChange,
  state: 'running' | 'paused',
): Promise<void> {
  const action = state === 'paused' ? 'destination.pause' : 'destination.resume';
  await record(change, action, {}, async () => {
    await addConfigured(change);
    return setState(change.db, change.name, state);
  });
}

/**
 * Forwards again, or for the first time, what was received from a time on; undefined is now. Throws HttpError 404
 * when neither settings nor database know the name.
 */
export async function rewindDestination(change: DestinationChange, time: Date | undefined): Promise<void> {
  const { db, name } = change;
  await record(change, 'destination.rewind', { to: time ?? 'now' }, async () => {
    await addConfigured(change);
    return moveCursor(db, name, time === undefined ? await endOfEvents(db) : await positionBefore(db, time));
  });
}

/**
 * Removes what is remembered of a destination that the settings no longer have, and what it has refused. Throws
 * HttpError 409 when they still have it, 404 when nothing is remembered of it.
 */
export async function forgetUnconfigured(change: DestinationChange): Promise<void> {
  const { db, configured, name } = change;
  if (configured.includes(name)) {
    throw new HttpError(409, 'STILL_CONFIGURED', `"${name}" is still in the settings: take it out first`);
  }
  await record(change, 'destination.forget', {}, () => forgetDestination(db, name));
}

/** `work` says whether there was such a destination. */
async function record(
  { db, operator, name }: DestinationChange,
  action: OperatorActionName,
  details: Readonly<Record<string, unknown>>,
  work: () => Promise<boolean>,
): Promise<void> {
  await recordAction(db, { operator, action, subject: name, details }, async () => {
    if (!(await work())) {
      throw new HttpError(
        404,
        'UNKNOWN_DESTINATION',
        `there is no destination "${name}": the list of destinations has all names`,
      );
    }
  });
}

/** One that was never forwarded to is written down, so that it can be changed before. */
async function addConfigured({ db, configured, name }: DestinationChange): Promise<void> {
  if (configured.includes(name)) await addDestination(db, name, await endOfEvents(db));
}
