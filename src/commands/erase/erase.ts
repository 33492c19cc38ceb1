import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { UsageError } from '../../errors.ts';
import { SETTLED_MS, toRefused, type Person } from '../../handlers/refusals.ts';
import type { Db } from '../../store/database.ts';
import {
  destinationsPast,
  eraseRows,
  findEventsById,
  findEventsByPattern,
  findOtherTraces,
  suggestErasures,
  type Erasable,
  type ErasableEvent,
  type ErasureGrounds,
} from '../../store/erase.ts';
import { recordAction } from '../../store/operator-log.ts';
import { positionSince } from '../../store/read-log.ts';
import { addRefused, readRefused } from '../../store/refused-records.ts';
import { countOf } from '../../units.ts';
import { note, print } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { keepErasureKey } from './erasure-key.ts';
import { personPattern } from './person-pattern.ts';

/** What to erase. */
interface Chosen {
  readonly person: Person;
  readonly eventIds: readonly string[];
}

interface EraseOptions extends Chosen {
  /** Undefined: only list what was found. */
  readonly reason: string | undefined;
  readonly isConfirmed: boolean;
  /** For how many days backups and archived WAL are kept. */
  readonly backupsKept: number | undefined;
}

/** `erase`: lists what it found by table and month and, with a reason and after a question, erases it. */
export async function erase(
  db: Db,
  config: Pick<Config, 'erasureKeyFile'>,
  { reason, isConfirmed, backupsKept, ...chosen }: EraseOptions,
): Promise<void> {
  const found = await findAll(db, chosen);
  printFound(found);
  await printDestinations(db, found.events);
  if (reason === undefined) return;
  if (!isConfirmed) await confirm();
  const operator = commandOperator();
  const details = {
    reason,
    events: found.events.length,
    items: found.quarantine.length,
    operations: found.operations.length,
  };
  const erasure = await recordAction(
    db,
    { operator, action: 'events.erase', details },
    () => eraseForGood(db, config, chosen, { operator: operator.name, reason }),
    (id) => ({ erasure: id }),
  );
  print(`erased: erasure ${erasure}`);
  print(describeBackups(new Date(), backupsKept));
}

/**
 * Refuses records of the person from now on, waits until all workers know it, and erases everything that was stored until
 * then. Returns the id of the erasure.
 */
export async function eraseForGood(
  db: Db,
  { erasureKeyFile }: Pick<Config, 'erasureKeyFile'>,
  chosen: Chosen,
  grounds: ErasureGrounds,
): Promise<string> {
  const key = await keepErasureKey(erasureKeyFile, (await readRefused(db)).length > 0);
  await addRefused(db, toRefused(key, chosen.person, chosen.eventIds));
  await sleep(SETTLED_MS);
  const deadline = performance.now() + SEALED_WITHIN_MS;
  for (;;) {
    const erasure = await eraseRows(db, grounds, await findAll(db, chosen));
    if (erasure !== undefined) return erasure;
    if (performance.now() > deadline) {
      throw new UsageError(
        'Some of the events are not sealed yet, and nothing was erased. Start serve, and repeat the command a minute later.',
      );
    }
    note('waiting until all events are sealed');
    await sleep(RETRY_MS);
  }
}

/** The sealer waits for up to 40 s during a burst. */
const SEALED_WITHIN_MS = 60_000;
const RETRY_MS = 2_000;

/** `erase --suggest`: lists the clients whose data the cloud has deleted, and of whom there are events. */
export async function suggest(db: Db): Promise<void> {
  const suggested = await suggestErasures(db);
  for (const { mac, events, deletedAt } of suggested) {
    print(
      `${mac}  ${countOf(events, 'event')}, deleted in the cloud at ${deletedAt.toISOString()}: xiq-sink erase --client-mac ${mac}`,
    );
  }
  if (suggested.length === 0) print('There are no events of clients whose data the cloud has deleted.');
}

async function findAll(db: Db, { person, eventIds }: Chosen): Promise<Erasable> {
  const pattern = personPattern(person);
  const named = pattern === undefined ? [] : await findEventsByPattern(db, pattern);
  // With those that they supersede or that supersede them.
  const events = await findEventsById(db, [...eventIds, ...named.map(({ eventId }) => eventId)]);
  const missing = eventIds.find((id) => !events.some(({ eventId }) => eventId === id));
  if (missing !== undefined) throw new UsageError(`There is no event ${missing}.`);
  const others =
    pattern === undefined ? { quarantine: [], operations: [] } : await findOtherTraces(db, pattern);
  return { events, ...others };
}

function printFound({ events, quarantine, operations }: Erasable): void {
  const counts = new Map<string, number>();
  for (const { table, occurredAt } of events) {
    const group = `${table}  ${occurredAt.slice(0, 'YYYY-MM'.length)}`;
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  for (const [group, count] of counts) print(`${group}  ${countOf(count, 'event')}`);
  if (quarantine.length > 0) print(`quarantine  ${countOf(quarantine.length, 'item')}`);
  if (operations.length > 0) print(`operator_log  ${countOf(operations.length, 'entry', 'entries')}`);
  if (events.length + quarantine.length + operations.length === 0) print('nothing was found');
}

async function printDestinations(db: Db, events: readonly ErasableEvent[]): Promise<void> {
  if (events.length === 0) return;
  const earliest = Math.min(...events.map(({ receivedAt }) => receivedAt.getTime()));
  const names = await destinationsPast(db, await positionSince(db, new Date(earliest)));
  if (names.length > 0) print(`Some were sent, or may have been, to: ${names.join(', ')}.`);
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError('Add --yes to erase without a question.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Erase all of this for good? Type "erase": ');
  terminal.close();
  if (answer.trim() !== 'erase') throw new UsageError('Nothing was erased.');
}

const DAY_MS = 24 * 60 * 60 * 1000;

function describeBackups(erasedAt: Date, keptDays: number | undefined): string {
  const of = 'Backups, archived WAL and replicas of before';
  if (keptDays === undefined) {
    return `${of} ${erasedAt.toISOString()} still contain it. With --backups-kept DAYS, this says until when.`;
  }
  const until = new Date(erasedAt.getTime() + keptDays * DAY_MS);
  return `${of} ${erasedAt.toISOString()} contain it. If each is deleted after ${countOf(keptDays, 'day')}, none does from ${until.toISOString().slice(0, 10)} on.`;
}
