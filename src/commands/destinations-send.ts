import { randomUUID } from 'node:crypto';
import { validate as isUuid } from 'uuid';
import { UsageError } from '../errors.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import { sendBisecting } from '../forward/send-bisecting.ts';
import type { Sender } from '../forward/sender.ts';
import type { StoredEvent } from '../forward/stored-event.ts';
import type { Db } from '../store/database.ts';
import { countRejected, findRejected, markReplayed, openRejected } from '../store/destinations.ts';
import type { Rejected } from '../store/destinations.ts';
import { recordAction } from '../store/operator-log.ts';
import { readEvent } from '../store/read-events.ts';
import { commandOperator } from './operator.ts';
import { note, print } from './print.ts';
import { createProgress } from './progress.ts';
import { describeIds } from './quarantine-chosen.ts';
import { oneLine } from './table.ts';

/**
 * `destinations test`: sends one event that says that it is a test, and prints it. False when the destination refuses
 * it. Throws what the sender throws.
 */
export async function sendTestEvent(destination: Destination): Promise<boolean> {
  const event = testEvent(new Date().toISOString());
  note(destination.format(event));
  return withSender(destination, async (sender) => {
    const reason = await send(sender, destination, event);
    print(
      reason === undefined
        ? `${destination.name} has taken the test event ${event.eventId}`
        : `${destination.name} refuses the test event: ${reason}`,
    );
    return reason === undefined;
  });
}

/** An audit record that nobody can take for a real one. */
function testEvent(now: string): StoredEvent {
  const description = 'TEST EVENT of xiq-sink: nothing has happened';
  return {
    xid: '0',
    id: '0',
    eventId: randomUUID(),
    deliveryId: randomUUID(),
    source: 'xiq-sink-test',
    messageType: 'AUDIT_LOG_ALL',
    family: 'audit',
    occurredAt: now,
    receivedAt: now,
    ownerId: null,
    orgId: null,
    origin: 'webhook',
    columns: { user_name: 'xiq-sink-test', description },
    payload: { userName: 'xiq-sink-test', description },
  };
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
    () => withSender(destination, (sender) => replayAll({ db, destination, sender }, chosen, signal)),
    (sums) => ({ ...sums }),
  );
  print(`${sent} sent again${left === 0 ? '' : `, ${left} not`}`);
  return left === 0;
}

/** Where refused events are, and where they go. */
interface ReplayRoute {
  readonly db: Db;
  readonly destination: Destination;
  readonly sender: Sender;
}

/** Sends what is chosen, one by one; tells of each that was not sent. */
async function replayAll(
  route: ReplayRoute,
  chosen: ChosenRejected,
  signal: AbortSignal,
): Promise<{ sent: number; left: number }> {
  const { db, destination } = route;
  const total = chosen.all ? await countRejected(db, destination.name) : chosen.ids.length;
  const progress = createProgress('sent again', total);
  let sent = 0;
  let left = 0;
  try {
    for await (const rejected of chosenRejected(db, destination.name, chosen)) {
      if (signal.aborted) throw new Error(`stopped; ${sent} were sent, the rest is as it was`);
      const reason = await replay(route, rejected);
      if (reason === undefined) sent += 1;
      else {
        left += 1;
        progress.clear();
        print(`${rejected.event_id}  ${oneLine(reason)}`);
      }
      progress.show(sent + left);
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

/** Why the event was not sent; undefined when it was. */
async function replay(
  { db, sender, destination }: ReplayRoute,
  rejected: Rejected,
): Promise<string | undefined> {
  const { message_type: messageType, occurred_at: occurredAt, event_id: eventId } = rejected;
  const event = await readEvent(db, messageType, occurredAt, eventId);
  if (event === undefined) return 'it is no longer stored: retention has dropped it';
  const reason = await send(sender, destination, event);
  if (reason === undefined) await markReplayed(db, destination.name, eventId);
  return reason;
}

/** Why the destination refuses the event; undefined when it has taken it. */
async function send(
  sender: Sender,
  { format }: Destination,
  event: StoredEvent,
): Promise<string | undefined> {
  const [refused] = await sendBisecting(sender, [{ event, text: format(event) }]);
  return refused?.reason;
}

async function withSender<T>(destination: Destination, work: (sender: Sender) => Promise<T>): Promise<T> {
  const sender = destination.createSender();
  try {
    return await work(sender);
  } finally {
    await sender.close();
  }
}
