import { ConflictError, NotFoundError, UsageError } from '../../errors.ts';
import type { Destination } from '../../forward/parse-destinations.ts';
import {
  changeDestinationState,
  forgetUnconfigured,
  rewindDestination,
} from '../../store/change-destination.ts';
import type { DestinationChange } from '../../store/change-destination.ts';
import type { Db } from '../../store/database.ts';
import { commandOperator } from '../operator.ts';
import { print } from '../print.ts';

/** The destination of this name in the settings. Throws a UsageError when there is none. */
export function configuredDestination(configured: readonly Destination[], name: string): Destination {
  const destination = configured.find((one) => one.name === name);
  if (destination !== undefined) return destination;
  const names = configured.map((one) => one.name).join(', ');
  throw new UsageError(
    `"${name}" is no destination of the settings: ${names === '' ? 'they have none' : names}`,
  );
}

/** `destinations pause` and `resume`: whoever forwards stops behind the batch in hand, or goes on within a second. */
export async function changeState(
  db: Db,
  configured: readonly Destination[],
  name: string,
  state: 'running' | 'paused',
): Promise<void> {
  await asUsage(() => changeDestinationState(changeOf(db, configured, name), state));
  print(`${name} is ${state}`);
}

/** `destinations rewind`: forwards again, or for the first time, what was received from a time on; undefined is now. */
export async function rewind(
  db: Db,
  configured: readonly Destination[],
  name: string,
  time: Date | undefined,
): Promise<void> {
  await asUsage(() => rewindDestination(changeOf(db, configured, name), time));
  print(
    `${name} goes on with what was received ${time === undefined ? 'from now on' : `from ${time.toISOString()} on`}`,
  );
}

/** `destinations forget`: removes what is remembered of a destination that the settings no longer have. */
export async function forget(db: Db, configured: readonly Destination[], name: string): Promise<void> {
  await asUsage(() => forgetUnconfigured(changeOf(db, configured, name)));
  print(`${name} is forgotten`);
}

function changeOf(db: Db, configured: readonly Destination[], name: string): DestinationChange {
  return { db, operator: commandOperator(), configured: configured.map((one) => one.name), name };
}

/** What is refused is for the person at the command line to change. */
async function asUsage(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NotFoundError || error instanceof ConflictError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}
