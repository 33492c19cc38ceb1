import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import { archivedSince } from '../archive/archived-files.ts';
import type { Db } from '../server/database.ts';
import { addDestination, forgetDestination, moveCursor, setState } from './destinations.ts';
import { recordAction, type Operator } from '../access/operator-log.ts';
import { positionSince, readRange } from '../log/read-log.ts';
import type { OperatorActionName } from '../server/schema/access-tables.ts';

/** The destination that an operator changes. Every change is recorded in the operator log. */
export interface DestinationChange {
  readonly db: Db;
  readonly operator: Operator;
  readonly configured: readonly string[];
  readonly name: string;
}

/**
 * Pauses or resumes a destination: forwarding stops after the current batch, or continues within a second, even after
 * the destination refused our credentials. Throws NotFoundError when neither settings nor database contain the name.
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
 * Moves the position of a destination to the first event received at or after a time, or to the end when the time is
 * undefined. Throws NotFoundError when neither settings nor database contain the name, and ConflictError when events received
 * since that time are archived: forwarding reads the database alone, and would leave them out.
 */
export async function rewindDestination(change: DestinationChange, time: Date | undefined): Promise<void> {
  const { db, name } = change;
  if (time !== undefined) await mustNotBeArchived(db, time);
  await record(change, 'destination.rewind', { to: time ?? 'now' }, async () => {
    await addConfigured(change);
    return moveCursor(
      db,
      name,
      time === undefined ? (await readRange(db)).next : await positionSince(db, time),
    );
  });
}

async function mustNotBeArchived(db: Db, since: Date): Promise<void> {
  const { months, last } = await archivedSince(db, since);
  if (last === undefined) return;
  const message = `events received since ${since.toISOString()} are archived (${months.join(', ')}), and archived events are not forwarded: bring these months back with xiq-sink unarchive, or resend events received after ${last.toISOString()}`;
  throw new ConflictError('EVENTS_ARCHIVED', message);
}

/**
 * Deletes the state of a removed destination, with its rejected events. Throws ConflictError when the destination is
 * still configured, and NotFoundError when the database has no state of it.
 */
export async function forgetUnconfigured(change: DestinationChange): Promise<void> {
  const { db, configured, name } = change;
  if (configured.includes(name)) {
    const message = `destination "${name}" is still configured: remove it from the settings first`;
    throw new ConflictError('STILL_CONFIGURED', message);
  }
  await record(change, 'destination.forget', {}, () => forgetDestination(db, name));
}

/** `work` resolves with whether the destination exists. */
async function record(
  { db, operator, name }: DestinationChange,
  action: OperatorActionName,
  details: Readonly<Record<string, unknown>>,
  work: () => Promise<boolean>,
): Promise<void> {
  await recordAction(db, { operator, action, subject: name, details }, async () => {
    if (!(await work())) {
      const message = `destination "${name}" does not exist: see the list of destinations`;
      throw new NotFoundError('UNKNOWN_DESTINATION', message);
    }
  });
}

/** Adds the row of a configured destination that has not started yet, so that it can be changed before. */
async function addConfigured({ db, configured, name }: DestinationChange): Promise<void> {
  if (configured.includes(name)) await addDestination(db, name, (await readRange(db)).next);
}
