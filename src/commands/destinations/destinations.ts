import { validate as isUuid } from 'uuid';
import type { Destination } from '../../forward/parse-destinations.ts';
import { joinDestinations } from '../../forward/added-destinations.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { listAddedOutputs } from '../../store/destinations/added-outputs.ts';
import type { Db } from '../../store/server/database.ts';
import { describeDestinations, type DescribedDestination } from '../../store/destinations/destinations.ts';
import {
  listRejected,
  type Rejected,
  findRejected,
  openRejected,
  countRejected,
} from '../../store/destinations/rejected-events.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { formatCount, formatDuration, countOf } from '../../lib/text/units.ts';
import { note, print, printRows, type Columns } from '../shared/output.ts';
import {
  changeDestinationState,
  forgetUnconfigured,
  rewindDestination,
  type DestinationChange,
} from '../../store/destinations/change-destination.ts';
import { recordCommand } from '../shared/record.ts';
import { UsageError } from '../../lib/errors.ts';
import { describeIds } from '../../store/access/operator-log.ts';
import { commandName } from '../../lib/text/command-name.ts';
import { resendRejected, sendTest } from '../../forward/send-to-destination.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { createProgress } from '../shared/progress.ts';

/** The destinations of the settings and of the database. Notes each that cannot be used. */
export async function joinStored(db: Db, config: ServiceConfig): Promise<readonly Destination[]> {
  const { destinations, conflicts, problems } = joinDestinations(config, await listAddedOutputs(db));
  for (const problem of [...conflicts, ...problems]) note(problem);
  return destinations;
}

const COLUMNS: Columns<DescribedDestination> = {
  name: ({ name }) => name,
  type: ({ type }) => type,
  format: ({ format }) => format,
  'defined in': ({ origin }) => origin,
  state: ({ state }) => state,
  'events behind': ({ behind }) => (behind === null ? null : formatCount(behind)),
  'behind for': ({ behind_since: since }) =>
    since === null ? null : formatDuration((Date.now() - since.getTime()) / 1_000),
  sent: ({ sent }) => sent,
  rejected: ({ rejected }) => (rejected === null ? null : String(rejected)),
  'last error': ({ last_error: error }) => error,
};

/** `destinations list`: prints configured and removed destinations, as a table or as JSON lines. */
export async function printDestinations(db: Db, configured: readonly Destination[], asJson: boolean) {
  const rows = await describeDestinations(db, ALL_SOURCES, configured);
  await printRows(rows, COLUMNS, asJson);
  if (rows.length === 0) note('no destinations are configured; see docs/forwarding.md');
}

const REJECTED_COLUMNS: Columns<Rejected> = {
  event: (event) => event.event_id,
  occurred: (event) => event.occurred_at.toISOString(),
  type: (event) => event.message_type,
  rejected: (event) => event.rejected_at.toISOString(),
  reason: (event) => event.reason,
};

/**
 * `destinations rejected`: prints rejected events that were not resent since, oldest first. Throws a UsageError if there
 * is no destination of that name, configured or removed.
 */
export async function printRejected(
  db: Db,
  configured: readonly Destination[],
  name: string,
  limit: number,
  asJson: boolean,
): Promise<void> {
  const known = await describeDestinations(db, ALL_SOURCES, configured);
  if (known.every((destination) => destination.name !== name)) {
    throw new UsageError(`Destination "${name}" does not exist. Run ${commandName()} destinations list.`);
  }
  const rejected = await listRejected(db, ALL_SOURCES, name, limit);
  await printRows(rejected, REJECTED_COLUMNS, asJson);
  if (!asJson && rejected.length === 0) print('No rejected events.');
}

/** `destinations pause` and `resume`: forwarding stops after the current batch, or resumes within a second. */
export async function changeState(change: DestinationChange, state: 'running' | 'paused'): Promise<void> {
  await changeDestinationState(change, state);
  print(`${change.name} is ${state}`);
}

/** `destinations rewind`: moves the position to the first event received since a time; undefined is now. */
export async function rewind(change: DestinationChange, time: Date | undefined): Promise<void> {
  await rewindDestination(change, time);
  const since = time === undefined ? 'from now on' : `since ${time.toISOString()}`;
  print(`${change.name} continues with events received ${since}`);
}

/** `destinations forget`: deletes the state of a destination that was removed from the settings. */
export async function forget(change: DestinationChange): Promise<void> {
  await forgetUnconfigured(change);
  print(`deleted the state of ${change.name}`);
}

/**
 * `destinations test`: sends one event that is marked as a test, and prints it. Resolves with false when the
 * destination rejects it. Throws what the sender throws.
 */
export async function sendTestEvent(destination: Destination): Promise<boolean> {
  const { eventId, refusal } = await sendTest(destination, note);
  print(
    refusal === undefined
      ? `${destination.name} accepted the test event ${eventId}`
      : `${destination.name} rejected the test event: ${refusal}`,
  );
  return refusal === undefined;
}

const PAGE = 500;

interface ChosenRejected {
  readonly ids: readonly string[];
  readonly all: boolean;
}

/**
 * `destinations replay`: resends rejected events one by one. Resolves with false when the destination rejected any
 * again. Throws what the sender throws; the remaining events stay rejected.
 */
export async function resendRejectedEvents(
  db: Db,
  destination: Destination,
  chosen: ChosenRejected,
  signal: AbortSignal,
): Promise<boolean> {
  checkChosen(chosen);
  const { name } = destination;
  const details = chosen.all ? { all: true } : describeIds(chosen.ids);
  const { sent, left } = await recordCommand(
    db,
    { action: 'destination.replay', subject: name, details },
    () => resendChosen(db, destination, chosen, signal),
    (sums) => ({ ...sums }),
  );
  print(`${countOf(sent, 'event')} resent${left === 0 ? '' : `, ${left} rejected again`}`);
  return left === 0;
}

async function resendChosen(
  db: Db,
  destination: Destination,
  chosen: ChosenRejected,
  signal: AbortSignal,
): Promise<{ sent: number; left: number }> {
  const total = chosen.all ? await countRejected(db, ALL_SOURCES, destination.name) : chosen.ids.length;
  using progress = createProgress('resent', total);
  let sent = 0;
  let left = 0;
  const rejected = chosenRejected(db, destination.name, chosen);
  for await (const { eventId, reason } of resendRejected(db, destination, rejected)) {
    if (reason === undefined) sent += 1;
    else {
      left += 1;
      progress.clear();
      print(`${eventId}  ${revealOnLine(reason)}`);
    }
    progress.show(sent + left);
    if (signal.aborted && sent + left < total) {
      throw new Error(`stopped after ${countOf(sent, 'event')}; the others remain rejected`);
    }
  }
  return { sent, left };
}

function checkChosen({ ids, all }: ChosenRejected): void {
  if (ids.length > 0 === all) throw new UsageError('Give either event ids or --all.');
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) {
    throw new UsageError(
      `"${wrong}" is not an event id. Run ${commandName()} destinations rejected NAME to list the ids.`,
    );
  }
}

async function* chosenRejected(db: Db, name: string, { ids, all }: ChosenRejected): AsyncGenerator<Rejected> {
  if (all) {
    yield* openRejected(db, ALL_SOURCES, name, PAGE);
    return;
  }
  const found = await findRejected(db, ALL_SOURCES, name, ids);
  const missing = ids.find((id) => found.every((rejected) => rejected.event_id !== id.toLowerCase()));
  if (missing !== undefined) throw new UsageError(`${name} has no rejected event ${missing}`);
  yield* found;
}
