import type { Destination } from '../../forward/parse-destinations.ts';
import {
  changeDestinationState,
  forgetUnconfigured,
  rewindDestination,
  type DestinationChange,
} from '../../store/change-destination.ts';
import type { Db } from '../../store/database.ts';
import { print } from '../shared/output.ts';
import { asUsage, commandOperator } from '../shared/process.ts';

/** `destinations pause` and `resume`: forwarding stops after the current batch, or resumes within a second. */
export async function changeState(
  db: Db,
  configured: readonly Destination[],
  name: string,
  state: 'running' | 'paused',
): Promise<void> {
  await asUsage(() => changeDestinationState(changeOf(db, configured, name), state));
  print(`${name} is ${state}`);
}

/** `destinations rewind`: moves the position to the first event received since a time; undefined is now. */
export async function rewind(
  db: Db,
  configured: readonly Destination[],
  name: string,
  time: Date | undefined,
): Promise<void> {
  await asUsage(() => rewindDestination(changeOf(db, configured, name), time));
  print(
    time === undefined
      ? `${name} continues with events received from now on`
      : `${name} continues with events received since ${time.toISOString()}`,
  );
}

/** `destinations forget`: deletes the state of a destination that was removed from the settings. */
export async function forget(db: Db, configured: readonly Destination[], name: string): Promise<void> {
  await asUsage(() => forgetUnconfigured(changeOf(db, configured, name)));
  print(`deleted the state of ${name}`);
}

function changeOf(db: Db, configured: readonly Destination[], name: string): DestinationChange {
  return { db, operator: commandOperator(), configured: configured.map((one) => one.name), name };
}
