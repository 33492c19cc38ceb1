import { FAMILIES } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { latestCheckpoint, readSealState } from '../../store/seal/seal-log.ts';
import {
  countLeafTiles,
  countWaiting,
  firstUnsignedAt,
  findMiscounted,
  findStrayEvents,
  readLeafHashes,
  readRuns,
  type SealRun,
  type StrayEvent,
} from '../../store/seal/read-seals.ts';
import { originOf } from '../checkpoint.ts';
import { findInstallation } from '../../store/server/installation.ts';
import { compareSchema } from '../../store/server/schema/compare-schema.ts';
import { positionSince } from '../../store/log/read-log.ts';
import { monthOf } from '../../store/seal/excuses.ts';
import {
  countUnsealedDeliveries,
  findStrayDeliveries,
  type DeliveryFilter,
} from '../../store/seal/sealed-deliveries.ts';
import type { LateEvents, Positions } from '../../store/seal/sealed-rows.ts';
import type { Report, VerifyFinding } from './finding.ts';
import { TILE_WIDTH } from '../merkle-tree.ts';
import { addLate, checkEvents, readGoneReasons } from './verify-rows.ts';
import type { GoneReasons, Leaves, RowChoice, RowResult } from './verify-rows.ts';
import { checkStatements, compareStated } from './verify-statements.ts';
import { createTreeCheck, type Outside, type TreeResult } from './verify-tree.ts';

/** What of the events is not in the tables. */
export interface ArchivedEvents {
  /** The database, with the events of the archive. */
  readonly events: Db;
  /** Files that are missing, or are not those that were written, and events of files that the log does not have. */
  readonly findDifferences: () => AsyncIterable<VerifyFinding>;
}

/**
 * What to verify, and what lies outside of the database. The range and the source choose rows; the tree is always verified
 * whole.
 */
export interface VerifyOptions extends DeliveryFilter, Outside {
  /** Undefined: all events are in the tables. */
  readonly archived?: ArchivedEvents | undefined;
  /** Hashes rows in this program, not in the database. */
  readonly isFull?: boolean;
}

export type VerifySummary = Awaited<ReturnType<typeof verifyLog>>;

/** Whether every row is what was sealed, and there is no doubt about the seal. */
export const isProven = ({ altered, missing, inserted, doubts }: VerifySummary) =>
  altered + missing + inserted + doubts.length === 0;

/** What is stored is sealed and signed within two minutes; within 40 s more under full load. */
const UNSIGNED_LIMIT_MS = 10 * 60 * 1000;

/** Leaves that are compared at once, and how many such chunks the database works on at a time. */
const CHUNK = 32 * TILE_WIDTH;
const AT_ONCE = 2;

/**
 * So many missing tiles are looked for, leaf by leaf. To look for all that somebody may have written into the state of the
 * seal would not end.
 */
const MISSING_TILES = 1_024;

/** Statements are read whole: one of deliveries has up to 256 hashes, 25 kB. */
const STATEMENTS_CHUNK = 32;

/**
 * Verifies rows against leaves, leaves against the tree, the tree against its checkpoints and the anchors, the counts
 * of deliveries against rows, and the operator log, quarantine and gaps against what was sealed of them. Calls back for each finding; memory does not grow with the log.
 */
export async function verifyLog(
  db: Db,
  options: VerifyOptions,
  onFinding: Report,
  onLeaves: (done: number) => void,
) {
  const comparedSince = new Date();
  const { size: claimed, signed, sealed, logged } = await readSealState(db);
  const counts = { intact: 0, EXPIRED: 0, ERASED: 0, ALTERED: 0, MISSING: 0, INSERTED: 0 };
  const report = (finding: VerifyFinding) => {
    counts[finding.state] += 1;
    onFinding(finding);
  };
  const size = Math.min(claimed, ((await countLeafTiles(db)) + MISSING_TILES) * TILE_WIDTH);
  if (size < claimed) {
    const detail = 'the table log_hashes does not have them';
    report({ state: 'MISSING', subject: 'leaves', detail, leaves: [size, claimed] });
  }
  const tree = createTreeCheck(db, { size, lastSigned: Math.max(size, signed) }, options, report);
  let late: LateEvents = { count: 0, earliest: null };
  const choice = { ...options, positions: await positionsOf(db, options) };
  const reasons = await readGoneReasons(db);
  for await (const { chunk, rows } of ahead(chunksOf(readRuns(db), size, report), (chunk) =>
    checkChunk(options.archived?.events ?? db, chunk, choice, reasons),
  )) {
    counts.intact += rows.intact;
    if (rows.late !== undefined) late = addLate(late, rows.late);
    for (const finding of rows.findings) report(finding);
    await tree.append(rows.leaves);
    onLeaves(chunk.leaf + chunk.count);
  }
  const head = await tree.end();
  for await (const finding of options.archived?.findDifferences() ?? []) report(finding);
  const waiting = await verifyOthers(db, options, reasons, report);
  const queued = await compareStated(db, report);
  const deliveries = await countUnsealedDeliveries(db);
  const since = [await firstUnsignedAt(db, head.signedSize), waiting.since, deliveries.since];
  const unsealed = logged.to - logged.from - (sealed.to - sealed.from);
  return {
    /** Leaves of the tree. */
    size,
    intact: counts.intact,
    expired: counts.EXPIRED,
    erased: counts.ERASED,
    altered: counts.ALTERED,
    missing: counts.MISSING,
    inserted: counts.INSERTED,
    notSealedYet: Math.max(0, unsealed) + waiting.count + queued + deliveries.count,
    comparedSince,
    doubts: doubtsOf(head, since, options),
    sealedLate: late,
    ...head,
  };
}

/** `unsigned`: when the first of what no checkpoint has was stored, if there is any. */
function doubtsOf(
  { checkpoints }: TreeResult,
  unsigned: readonly (Date | null | undefined)[],
  { trust }: VerifyOptions,
) {
  const doubts: string[] = [];
  if (checkpoints > 0 && trust.keys.length === 0) {
    doubts.push(
      'This machine has no key of this log: the signatures were checked with the keys in the database itself. Put the public key into LOG_KEY_FILE.',
    );
  }
  const since = Math.min(...unsigned.map((at) => at?.getTime() ?? Infinity));
  if (Date.now() - since > UNSIGNED_LIMIT_MS) {
    doubts.push(
      `No checkpoint contains the data stored since ${new Date(since).toISOString()}, so it may have been changed. A running service signs within two minutes; otherwise, its log contains the reason.`,
    );
  }
  return doubts;
}

/** Rows that no leaf leads to. Returns those that the sequencer will still take. */
async function verifyOthers(
  db: Db,
  { since, until, source }: VerifyOptions,
  { droppedDeliveries }: GoneReasons,
  report: Report,
) {
  const range = { since, until };
  const scope = source === undefined ? ALL_SOURCES : [source];
  for (const family of FAMILIES)
    for (const event of await findStrayEvents(db, TABLE_OF[family], scope, range))
      report(describeStray(event));
  for (const { receivedAt, ...delivery } of await findStrayDeliveries(db, scope, range)) {
    const detail = `no leaf has it; its time of arrival is ${receivedAt.toISOString()}`;
    report({ state: 'INSERTED', subject: 'delivery', detail, ...delivery });
  }
  for (const { name, detail } of await compareSchema(db)) {
    report({ state: 'ALTERED', subject: 'schema', key: name, detail });
  }
  await compareInstallation(db, report);
  for (const { deliveryId, source: of, counts, found, receivedAt } of await findMiscounted(
    db,
    scope,
    range,
  )) {
    const delivery = { subject: 'delivery', deliveryId, source: of } as const;
    if (counts !== null) {
      const { expected, events, duplicates, quarantined } = counts;
      const detail = `it counts ${expected} expected = ${events} events + ${duplicates} duplicates + ${quarantined} quarantined; the tables have ${found} of its events`;
      report({ state: 'ALTERED', detail, ...delivery });
    } else if (monthOf(receivedAt, droppedDeliveries) === undefined) {
      report({
        state: 'MISSING',
        detail: `the tables have ${found} of its events, but not the delivery itself`,
        ...delivery,
      });
    }
  }
  return countWaiting(db, scope, range);
}

/** The id of the installation is in the name of the log, with which every checkpoint begins. */
async function compareInstallation(db: Db, report: Report): Promise<void> {
  const { note = '' } = (await latestCheckpoint(db)) ?? {};
  const { id } = (await findInstallation(db)) ?? { id: 'nothing' };
  const [origin] = note.split('\n');
  if (note === '' || origin === originOf(id)) return;
  const detail = `the latest one belongs to the log ${origin}, but the table installation has ${id}`;
  report({ state: 'ALTERED', subject: 'checkpoint', detail });
}

export const describeStray = ({ receivedAt, ...event }: StrayEvent, where = 'it'): VerifyFinding => ({
  state: 'INSERTED',
  subject: 'event',
  detail: `${where} is not in the log in this form; its time of arrival is ${receivedAt.toISOString()}`,
  ...event,
});

/** The positions of the events that were received in a range. */
export async function positionsOf(db: Db, { since, until }: TimeRange): Promise<Positions> {
  return {
    from: since === undefined ? 0 : await positionSince(db, since),
    to: until === undefined ? Number.MAX_SAFE_INTEGER : await positionSince(db, until),
  };
}

/** Consecutive leaves, and what they are of; undefined if that is not known. */
export interface Chunk extends Leaves {
  readonly of: 'statements' | { readonly position: number; readonly version: number } | undefined;
}

/** Compares leaves with what they are of. */
export async function checkChunk(
  db: Db,
  { of, ...leaves }: Chunk,
  choice: RowChoice & DeliveryFilter,
  reasons: GoneReasons,
): Promise<RowResult> {
  if (of === 'statements') return checkStatements(db, leaves, choice, reasons);
  if (of !== undefined) return checkEvents(db, { ...leaves, ...of }, choice, reasons);
  const { leaf, count } = leaves;
  return { leaves: await readLeafHashes(db, leaf, leaf + count), intact: 0, findings: [] };
}

/** The leaves of the tree in their order. Reports leaves that no run accounts for. */
export async function* chunksOf(
  runs: AsyncIterable<SealRun>,
  size: number,
  report: Report,
): AsyncGenerator<Chunk> {
  let next = 0;
  function* unknownUpTo(leaf: number): Generator<Chunk> {
    if (leaf <= next) return;
    const detail = 'the table log_seals does not map them to rows';
    report({ state: 'MISSING', subject: 'leaves', detail, leaves: [next, leaf] });
    yield* pieces({ leaf: next, count: leaf - next, of: undefined });
    next = leaf;
  }
  for await (const run of runs) {
    const { firstLeaf, leaves } = run;
    if (firstLeaf >= size) break;
    yield* unknownUpTo(firstLeaf);
    const end = Math.min(firstLeaf + leaves, size);
    yield* pieces(partOf(chunkOf(run), Math.max(next - firstLeaf, 0), end - Math.max(next, firstLeaf)));
    next = Math.max(next, end);
  }
  yield* unknownUpTo(size);
}

/** The leaves of a run. */
export const chunkOf = ({ firstLeaf, leaves, firstPosition, version }: SealRun): Chunk => ({
  leaf: firstLeaf,
  count: leaves,
  of: firstPosition === null ? 'statements' : { position: firstPosition, version },
});

/** So many leaves of a chunk, after the first `skipped`. */
export const partOf = ({ leaf, of }: Chunk, skipped: number, count: number): Chunk => ({
  leaf: leaf + skipped,
  count,
  of: typeof of === 'object' ? { ...of, position: of.position + skipped } : of,
});

function* pieces(chunk: Chunk): Generator<Chunk> {
  const most = chunk.of === 'statements' ? STATEMENTS_CHUNK : CHUNK;
  for (let done = 0; done < chunk.count; done += most) {
    yield partOf(chunk, done, Math.min(most, chunk.count - done));
  }
}

/** Works on some chunks at a time, and yields the results in their order. */
async function* ahead(
  chunks: AsyncIterable<Chunk>,
  work: (chunk: Chunk) => Promise<RowResult>,
): AsyncGenerator<{ readonly chunk: Chunk; readonly rows: RowResult }> {
  const running: { readonly chunk: Chunk; readonly rows: Promise<RowResult> }[] = [];
  for await (const chunk of chunks) {
    const rows = work(chunk);
    rows.catch(() => undefined);
    running.push({ chunk, rows });
    const first = running.length > AT_ONCE ? running.shift() : undefined;
    if (first !== undefined) yield { chunk: first.chunk, rows: await first.rows };
  }
  for (const { chunk, rows } of running) yield { chunk, rows: await rows };
}
