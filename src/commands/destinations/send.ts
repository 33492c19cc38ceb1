import { findRejected, openRejected, countRejected, type Rejected } from '../../store/rejected-events.ts';
import { validate as isUuid } from 'uuid';
import { UsageError } from '../../errors.ts';
import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { describeIds, recordAction } from '../../store/operator-log.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import { commandName } from '../../command-name.ts';
import { resendRejected, sendTest } from '../../forward/send-to-destination.ts';
import { countOf } from '../../units.ts';
import { revealOnLine } from '../../hidden-characters.ts';
import { note, print } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { createProgress } from '../shared/progress.ts';

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

/** Rejected events per query. */
const PAGE = 500;

/** The rejected events that a command works on: those with these ids, or all. */
export interface ChosenRejected {
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
  const { sent, left } = await recordAction(
    db,
    { operator: commandOperator(), action: 'destination.replay', subject: name, details },
    () => resendChosen(db, destination, chosen, signal),
    (sums) => ({ ...sums }),
  );
  print(`${countOf(sent, 'event')} resent${left === 0 ? '' : `, ${left} rejected again`}`);
  return left === 0;
}

/** Resends the chosen events, and prints each that was rejected again. */
async function resendChosen(
  db: Db,
  destination: Destination,
  chosen: ChosenRejected,
  signal: AbortSignal,
): Promise<{ sent: number; left: number }> {
  const total = chosen.all ? await countRejected(db, ALL_SOURCES, destination.name) : chosen.ids.length;
  const progress = createProgress('resent', total);
  let sent = 0;
  let left = 0;
  try {
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
        throw new Error(`stopped after ${countOf(sent, 'event')}; the others stay rejected`);
      }
    }
  } finally {
    progress.clear();
  }
  return { sent, left };
}

function checkChosen({ ids, all }: ChosenRejected): void {
  if (ids.length > 0 === all) throw new UsageError('Give either event ids or --all.');
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) {
    throw new UsageError(
      `"${wrong}" is not an event id. ${commandName()} destinations rejected NAME lists them.`,
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
  if (missing !== undefined) throw new Error(`${name} has no rejected event ${missing}`);
  yield* found;
}
