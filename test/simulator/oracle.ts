import { parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { createFrontier, hashAt, nodesOfTiles, rootAt, TILE_WIDTH } from '../../src/seal/merkle-tree.ts';
import { saltAt } from '../../src/seal/stored-tree.ts';
import { numberOf } from './deliveries.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Ledger } from './ledger.ts';
import { EVENT_TABLES } from './log-statements.ts';
import { DESTINATIONS, type Receivers } from './receivers.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Row } from './statements.ts';

/** What is stored at the end, compared with what was sent and promised. Yields what is wrong. */
export function* judge(ledger: Ledger, database: SimulatedDatabase): Generator<string> {
  const deliveries = database.rowsOf('deliveries');
  const events = EVENT_TABLES.flatMap((table) => [...database.rowsOf(table).values()]);
  const quarantine = [...database.rowsOf('quarantine').values()];
  for (const text of new Set(database.unknown)) yield `the model of the database does not know: ${text}`;
  yield* nothingOfNobody(ledger, deliveries, events, quarantine);
  yield* countsAddUp(deliveries, countBy(events), countBy(quarantine));
  yield* nothingLost(ledger, deliveries, events, quarantine);
}

/** What a process may have open while nothing happens. */
const OPEN = { files: 2, connections: 12, timers: 40 };

/** Whatever has happened, a process holds no more than another. Yields what is wrong. */
export function* judgeProcess(process: SimulatedProcess): Generator<string> {
  const { name, openFiles, connections, surroundings } = process;
  const open = {
    files: openFiles,
    connections: connections.size,
    timers: surroundings.clockwork.countOf(process),
  };
  for (const kind of ['files', 'connections', 'timers'] as const)
    if (open[kind] > OPEN[kind]) yield `${name} has ${open[kind]} ${kind} while nothing happens`;
}

/** The positions of all events, and what destinations have of them. Yields what is wrong. */
export function* judgeLog(database: SimulatedDatabase, { settled, refused }: Receivers): Generator<string> {
  const { entries, next } = database.log;
  if (entries.size !== next) yield `the log has ${entries.size} entries, and its next position is ${next}`;
  const logged = new Map([...entries.values()].map((row) => [row['event_id'] ?? '', row]));
  if (logged.size !== entries.size) yield 'an event has several positions';
  const events = EVENT_TABLES.flatMap((table) => [...database.rowsOf(table).values()]);
  if (events.length !== entries.size) yield `the log has ${entries.size} of ${events.length} events`;
  const setAside = database.rowsOf('rejected_events');
  for (const { event_id: id = '', position } of logged.values()) {
    for (const name of DESTINATIONS) {
      if (settled.get(name)?.has(id) !== true) yield `${name} has not got event ${id} at ${position}`;
      const isRefused = refused.get(name)?.has(id) === true;
      if (isRefused && !setAside.has(`${name} ${id}`))
        yield `${name} refused event ${id}, which is not set aside`;
    }
  }
}

/** The leaves and the checkpoints of the seal, compared with the rows. Yields what is wrong. */
export async function* judgeSeal(database: SimulatedDatabase): AsyncGenerator<string> {
  const { seal, log } = database;
  const { size } = seal;
  if (size !== log.next) yield `${size} of ${log.next} events are sealed`;
  const placed = database
    .rowsOf('log_seals')
    .values()
    .reduce((sum, row) => sum + Number(row['leaves']), 0);
  if (placed !== size) yield `the tree has ${size} leaves, and the list of them ${placed}`;
  const nodes = nodesOfTiles(async (level, number) => seal.readTile('log_hashes', `${level} ${number}`));
  const frontier = createFrontier(() => undefined);
  let [salts, hashes]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];
  for (let leaf = 0; leaf < size; leaf += 1) {
    const at = leaf % TILE_WIDTH;
    if (at === 0) {
      const tile = leaf / TILE_WIDTH;
      [salts, hashes] = [seal.readTile('log_salts', `${tile}`), seal.readTile('log_hashes', `0 ${tile}`)];
    }
    const hash = seal.leafHash(leaf, saltAt(salts, at)) ?? Buffer.alloc(0);
    if (!hashAt(hashes, at).equals(hash)) yield `the row of event ${leaf} is not what was sealed`;
    frontier.append(hash);
    const { note } = database.rowsOf('log_checkpoints').get(String(leaf + 1)) ?? {};
    const [signed] = note === undefined ? [] : parseCheckpoints(note);
    if (signed?.root.equals(frontier.root()) === false)
      yield `the checkpoint of ${leaf + 1} events is of others`;
  }
  if (!(await rootAt(nodes, size)).equals(frontier.root())) yield 'the tree is not that of its leaves';
}

function* nothingOfNobody(
  { bodies, begun }: Ledger,
  deliveries: ReadonlyMap<string, Row>,
  events: readonly Row[],
  quarantine: readonly Row[],
): Generator<string> {
  for (const id of deliveries.keys())
    if (!begun.has(id)) yield `delivery ${id} is stored, and nobody sent it`;
  for (const row of [...events, ...quarantine]) {
    if (!deliveries.has(row['delivery_id'] ?? ''))
      yield `${row['event_id'] ?? row['quarantine_id']} has no delivery`;
  }
  for (const { payload = '' } of events) {
    if (bodies.get(numberOf(payload))?.events.includes(payload) !== true)
      yield `nobody sent the event ${payload}`;
  }
}

function* countsAddUp(
  deliveries: ReadonlyMap<string, Row>,
  events: ReadonlyMap<string, number>,
  quarantine: ReadonlyMap<string, number>,
): Generator<string> {
  for (const [id, row] of deliveries) {
    const count = (name: string) => Number(row[`${name}_count`]);
    const isBalanced = count('expected') === count('event') + count('duplicate') + count('quarantined');
    const isTrue =
      count('event') === (events.get(id) ?? 0) && count('quarantined') === (quarantine.get(id) ?? 0);
    if (!isBalanced || !isTrue) yield `the counts of delivery ${id} do not add up: ${JSON.stringify(row)}`;
  }
}

function* nothingLost(
  { bodies, acknowledged, excused }: Ledger,
  deliveries: ReadonlyMap<string, Row>,
  events: readonly Row[],
  quarantine: readonly Row[],
): Generator<string> {
  const stored = new Map<string, number>();
  for (const { payload = '' } of events) stored.set(payload, (stored.get(payload) ?? 0) + 1);
  for (const [payload, times] of stored) if (times > 1) yield `stored ${times} times: ${payload}`;
  const contents = Map.groupBy(quarantine, (row) => row['delivery_id'] ?? '');
  for (const [id, number] of acknowledged) {
    if (excused.has(id)) continue;
    const body = bodies.get(number);
    if (!deliveries.has(id)) yield `delivery ${id} of body ${number} was acknowledged and is not stored`;
    const kept = (contents.get(id) ?? []).map(({ content = '' }) =>
      Buffer.from(content.slice(2), 'hex').toString(),
    );
    // A delivery with which processes ended is in quarantine whole.
    const isKept = (text: string) => kept.some((content) => content.includes(text));
    for (const event of body?.events ?? []) {
      if (!stored.has(event) && !isKept(event)) yield `acknowledged as ${id} and lost: ${event}`;
    }
    for (const part of body?.setAside ?? []) {
      if (!isKept(part)) yield `acknowledged as ${id} and not in quarantine: ${part}`;
    }
  }
}

function countBy(rows: readonly Row[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { delivery_id: id = '' } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
