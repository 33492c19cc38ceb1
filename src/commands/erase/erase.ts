import { createInterface } from 'node:readline/promises';
import type { Config } from '../../config/config.ts';
import {
  eraseForGood,
  findErasable,
  type Chosen,
  type ErasableStore,
  type FoundPerson,
} from '../../erasure/erase-person.ts';
import { UsageError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { destinationsPast, suggestErasures } from '../../store/seal/erase.ts';
import type { ErasableEvent } from '../../store/seal/person-traces.ts';
import { positionSince } from '../../store/log/read-log.ts';
import { countOf } from '../../lib/text/units.ts';
import { note, print } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { recordCommand } from '../shared/record.ts';
import { DAY_MS } from '../../lib/clock.ts';

interface EraseOptions extends Chosen {
  /** Without a source: somebody wants what any of several has sent. */
  readonly allSources: boolean;
  /** Undefined: only list what was found. */
  readonly reason: string | undefined;
  readonly isConfirmed: boolean;
  /** For how many days backups and archived WAL are kept. */
  readonly backupsKept: number | undefined;
}

/**
 * `erase`: lists what it found by table and month and, with a reason and after a question, erases it. Resolves with whether all
 * of that is gone.
 */
export async function erase(
  { db, archive }: ErasableStore,
  config: Pick<Config, 'erasureKeyFile'>,
  { reason, isConfirmed, backupsKept, allSources, ...chosen }: EraseOptions,
): Promise<boolean> {
  const found = await findErasable({ db, archive }, chosen);
  printFound(found);
  await printDestinations(db, found.events);
  if (reason === undefined) return true;
  if (chosen.source === undefined && !allSources) checkOneSource(found.events);
  if (!isConfirmed) await confirm();
  const details = {
    reason,
    source: chosen.source,
    events: found.events.length,
    items: found.quarantine.length,
    operations: found.operations.length,
    searches: found.searches.length,
    versions: Object.values(found.inventory).flat().length,
  };
  const { erasure, events, remaining } = await recordCommand(
    db,
    { action: 'events.erase', details },
    () =>
      eraseForGood({ db, archive }, config, chosen, { operator: commandOperator().name, reason }, () =>
        note('waiting until all events are sealed'),
      ),
    (done) => ({ ...done }),
  );
  print(`erased: erasure ${erasure}, ${countOf(events, 'event')}`);
  for (const problem of remaining) note(`an archive file still contains some of them: ${problem}`);
  print(describeBackups(new Date(), backupsKept));
  return remaining.length === 0;
}

/** Throws a UsageError if it is of several sources: one customer's request must not reach into what another one has. */
function checkOneSource(events: readonly ErasableEvent[]): void {
  const sources = [...new Set(events.map(({ source }) => source))];
  if (sources.length > 1) {
    throw new UsageError(
      `These events belong to ${sources.length} sources: ${sources.toSorted().join(', ')}. Add --source NAME, or --all-sources.`,
    );
  }
}

/** `erase --suggest`: lists the clients whose data the cloud has deleted, and of whom there are events. */
export async function suggest(db: Db): Promise<void> {
  const suggested = await suggestErasures(db);
  for (const { mac, source, events, deletedAt } of suggested) {
    print(
      `${mac}  ${countOf(events, 'event')} of the source ${source}, deleted in the cloud at ${deletedAt.toISOString()}: xiq-sink erase --client-mac ${mac} --source ${source}`,
    );
  }
  if (suggested.length === 0) print('No events of clients deleted in the cloud are stored.');
}

function printFound({ events, quarantine, operations, searches, inventory, possible }: FoundPerson): void {
  const counts = new Map<string, number>();
  for (const { table, occurredAt } of events) {
    const group = `${table}  ${occurredAt.slice(0, 'YYYY-MM'.length)}`;
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const lines = [
    ...[...counts].map(([group, count]) => [group, count, countOf(count, 'event')] as const),
    ['quarantine', quarantine.length, countOf(quarantine.length, 'item')] as const,
    ['operator_log', operations.length, countOf(operations.length, 'entry', 'entries')] as const,
    ['saved_searches', searches.length, countOf(searches.length, 'search', 'searches')] as const,
    ...Object.entries(inventory).map(
      ([table, { length }]) => [table, length, countOf(length, 'version')] as const,
    ),
  ].filter(([, count]) => count > 0);
  const width = Math.max(...lines.map(([name]) => name.length));
  for (const [name, , text] of lines) print(`${name.padEnd(width)}  ${text}`);
  if (lines.length === 0) print('nothing was found');
  printPossible(possible);
}

/** More of them are no help: the name is then a part of a usual word. */
const LISTED = 20;

function printPossible(possible: readonly string[]): void {
  if (possible.length === 0) return;
  print(
    `possible, but not erased: ${countOf(possible.length, 'row')} with the name within a longer word. Check them; to erase one, use --event.`,
  );
  for (const one of possible.slice(0, LISTED)) print(`  ${one}`);
  if (possible.length > LISTED) print(`  and ${possible.length - LISTED} more`);
}

async function printDestinations(db: Db, events: readonly ErasableEvent[]): Promise<void> {
  if (events.length === 0) return;
  const earliest = Math.min(...events.map(({ receivedAt }) => receivedAt.getTime()));
  const names = await destinationsPast(db, await positionSince(db, new Date(earliest)));
  if (names.length > 0) print(`Some may have been sent to: ${names.join(', ')}.`);
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError('Add --yes to erase without asking.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Erase all of this permanently? Type "erase": ');
  terminal.close();
  if (answer.trim() !== 'erase') throw new UsageError('Nothing was erased.');
}

function describeBackups(erasedAt: Date, keptDays: number | undefined): string {
  const of = 'Backups, archived WAL and replicas from before';
  if (keptDays === undefined) {
    return `${of} ${erasedAt.toISOString()} still contain this data. Use --backups-kept DAYS to print until when.`;
  }
  const until = new Date(erasedAt.getTime() + keptDays * DAY_MS);
  return `${of} ${erasedAt.toISOString()} contain this data. If each is deleted after ${countOf(keptDays, 'day')}, the last copy expires on ${until.toISOString().slice(0, 10)}.`;
}
