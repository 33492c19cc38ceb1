import { UsageError } from '../errors.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import type { Db } from '../store/database.ts';
import { addDestination, forgetDestination, moveCursor, setState } from '../store/destinations.ts';
import { recordAction } from '../store/operator-log.ts';
import { positionBefore } from '../store/read-events.ts';
import { endOfEvents } from '../store/search-events.ts';
import { commandOperator } from './operator.ts';
import { print } from './print.ts';

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
  const action = state === 'paused' ? 'destination.pause' : 'destination.resume';
  await recordAction(db, { operator: commandOperator(), action, subject: name }, async () => {
    await addConfigured(db, configured, name);
    if (!(await setState(db, name, state))) throw unknown(name);
  });
  print(`${name} is ${state}`);
}

/** `destinations rewind`: forwards again, or for the first time, what was received from a time on; undefined is now. */
export async function rewind(
  db: Db,
  configured: readonly Destination[],
  name: string,
  time: Date | undefined,
): Promise<void> {
  const details = { to: time ?? 'now' };
  const action = {
    operator: commandOperator(),
    action: 'destination.rewind' as const,
    subject: name,
    details,
  };
  await recordAction(db, action, async () => {
    await addConfigured(db, configured, name);
    const position = time === undefined ? await endOfEvents(db) : await positionBefore(db, time);
    if (!(await moveCursor(db, name, position))) throw unknown(name);
  });
  print(
    `${name} goes on with what was received ${time === undefined ? 'from now on' : `from ${time.toISOString()} on`}`,
  );
}

/** `destinations forget`: removes what is remembered of a destination that the settings no longer have. */
export async function forget(db: Db, configured: readonly Destination[], name: string): Promise<void> {
  if (configured.some((one) => one.name === name)) {
    throw new UsageError(`"${name}" is still in the settings: take it out first`);
  }
  const action = { operator: commandOperator(), action: 'destination.forget' as const, subject: name };
  await recordAction(db, action, async () => {
    if (!(await forgetDestination(db, name))) throw unknown(name);
  });
  print(`${name} is forgotten`);
}

/** One that was never forwarded to is written down, so that it can be changed before. */
async function addConfigured(db: Db, configured: readonly Destination[], name: string): Promise<void> {
  if (configured.some((one) => one.name === name)) await addDestination(db, name, await endOfEvents(db));
}

const unknown = (name: string) =>
  new UsageError(`there is no destination "${name}": xiq-sink destinations list shows them`);
