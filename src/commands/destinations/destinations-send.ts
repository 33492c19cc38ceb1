import { validate as isUuid } from 'uuid';
import { UsageError } from '../../errors.ts';
import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { describeIds, recordAction } from '../../store/operator-log.ts';
import { countRejected, findRejected, openRejected } from '../../store/rejected-events.ts';
import type { Rejected } from '../../store/rejected-events.ts';
import { commandOperator } from '../operator.ts';
import { note, print } from '../print.ts';
import { createProgress } from '../progress.ts';
import { resendRejected, sendTest } from '../../forward/send-to-destination.ts';
import { oneLine } from '../table.ts';

/**
 * `destinations test`: sends one event that says that it is a test, and prints it. False when the destination refuses
 * it. Throws what the sender throws.
 */
export async function sendTestEvent(destination: Destination): Promise<boolean> {
  const { eventId, refusal } = await sendTest(destination, note);
  print(
    refusal === undefined
      ? `${destination.name} has taken the test event ${eventId}`
      : `${destination.name} refuses the test event: ${refusal}`,
  );
  return refusal === undefined;
}

/** Read at once. */
const PAGE = 500;

/** Which of the events that a destination has refused. */
export interface ChosenRejected {
  readonly ids: readonly string[];
  readonly all: boolean;
}

/**
 * `destinations replay`: sends again, one by one, what the destination has refused. Each that it takes now is marked.
 * False when any was not sent. Throws what the sender throws: the rest stays as it was.
 */
export async function replayRejected(
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
    () => replayAll(db, destination, chosen, signal),
    (sums) => ({ ...sums }),
  );
  print(`${sent} sent again${left === 0 ? '' : `, ${left} not`}`);
  return left === 0;
}

/** Sends what is chosen, one by one; tells of each that was not sent. */
async function replayAll(
  db: Db,
  destination: Destination,
  chosen: ChosenRejected,
  signal: AbortSignal,
): Promise<{ sent: number; left: number }> {
  const total = chosen.all ? await countRejected(db, destination.name) : chosen.ids.length;
  const progress = createProgress('sent again', total);
  let sent = 0;
  let left = 0;
  try {
    const rejected = chosenRejected(db, destination.name, chosen);
    for await (const { eventId, reason } of resendRejected(db, destination, rejected)) {
      if (reason === undefined) sent += 1;
      else {
        left += 1;
        progress.clear();
        print(`${eventId}  ${oneLine(reason)}`);
      }
      progress.show(sent + left);
      if (signal.aborted && sent + left < total) {
        throw new Error(`stopped; ${sent} were sent, the rest is as it was`);
      }
    }
  } finally {
    progress.clear();
  }
  return { sent, left };
}

function checkChosen({ ids, all }: ChosenRejected): void {
  if (ids.length > 0 === all) throw new UsageError('say which: event ids, or --all');
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) {
    throw new UsageError(`"${wrong}" is no event id: xiq-sink destinations rejected NAME shows them`);
  }
}

async function* chosenRejected(db: Db, name: string, { ids, all }: ChosenRejected): AsyncGenerator<Rejected> {
  if (all) {
    yield* openRejected(db, name, PAGE);
    return;
  }
  const found = await findRejected(db, name, ids);
  const missing = ids.find((id) => found.every((rejected) => rejected.event_id !== id.toLowerCase()));
  if (missing !== undefined) throw new Error(`${name} has not refused the event ${missing}`);
  yield* found;
}
