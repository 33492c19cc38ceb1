import type { Db, Trx } from '../../store/server/database.ts';
import { readDroppedDeliveries, readDroppedMonths, readErasedLeaves } from '../../store/seal/excuses.ts';
import type { DroppedEvents, DroppedMonth, ErasedLeaves } from '../../store/seal/excuses.ts';
import { readLeafHashes, readSalts } from '../../store/seal/read-seals.ts';
import { checkpointBefore } from '../../store/seal/seal-log.ts';
import {
  hashEvents,
  lateBefore,
  NOTHING,
  readingSealed,
  readSealedEvents,
  sealedEvents,
} from '../../store/seal/sealed-rows.ts';
import type {
  EventHashes,
  LateEvents,
  Positions,
  SealedEvent,
  SealedEvents,
  SealedPart,
} from '../../store/seal/sealed-rows.ts';
import { findRewritten } from './derive-events.ts';
import type { VerifyFinding } from './finding.ts';
import { hashAt, HASH_BYTES, leafHash } from '../merkle-tree.ts';
import { entryAt, saltAt } from '../stored-tree.ts';

export interface Leaves {
  readonly leaf: number;
  readonly count: number;
}

export interface RowResult {
  /** The hashes of the leaves, as they are stored. */
  readonly leaves: Buffer;
  readonly intact: number;
  readonly findings: readonly VerifyFinding[];
  readonly late?: LateEvents;
}

export interface RowChoice {
  readonly positions: Positions;
  readonly source?: string | undefined;
  readonly part?: SealedPart | undefined;
  /** Hashes rows in this program, not in the database, and reads their columns again from the payloads. */
  readonly isFull?: boolean | undefined;
}

export const EVERYTHING: RowChoice = { positions: { from: 0, to: Number.MAX_SAFE_INTEGER } };

export interface GoneReasons {
  readonly dropped: readonly DroppedEvents[];
  readonly droppedDeliveries: readonly DroppedMonth[];
  readonly erased: readonly ErasedLeaves[];
}

export const readGoneReasons = async (db: Db): Promise<GoneReasons> => ({
  dropped: await readDroppedMonths(db),
  droppedDeliveries: await readDroppedDeliveries(db),
  erased: await readErasedLeaves(db),
});

/**
 * The erasure that deleted a row; undefined if none did. Who only claims an erasure has not deleted the salt, with which
 * a guess of the row could be confirmed.
 */
export function erasureOf(leaf: number, salt: Buffer, erased: readonly ErasedLeaves[]) {
  if (!salt.every((byte) => byte === 0)) return undefined;
  return erased.find(({ from, to }) => from <= leaf && leaf < to);
}

/** What an erasure says about a row that it deleted. */
export const explainErasure = ({ erasure, operator, isOnRecord }: ErasedLeaves) =>
  isOnRecord
    ? ({ state: 'ERASED', detail: `erased on request ${erasure} by ${operator}` } as const)
    : ({
        state: 'MISSING',
        detail: `erasure ${erasure} deleted it, but the operator log has no request for it`,
      } as const);

/**
 * Compares consecutive events, from a position on, with their leaves, by a version of their sealed form. Retention and erasures
 * explain missing rows.
 */
export async function checkEvents(
  db: Db,
  { leaf, count, position, version }: Leaves & { readonly position: number; readonly version: number },
  choice: RowChoice,
  reasons: GoneReasons,
): Promise<RowResult> {
  return readingSealed(db, async (trx) => {
    const leaves = await readLeafHashes(trx, leaf, leaf + count);
    const [from, to] = [
      Math.max(position, choice.positions.from),
      Math.min(position + count, choice.positions.to),
    ];
    if (from >= to) return { leaves, intact: 0, findings: [] };
    const skipped = from - position;
    const salts = await readSalts(trx, leaf + skipped, leaf + skipped + to - from);
    const hash: Hash = choice.isFull === true ? hashHere : hashEvents;
    const signedBefore = (await checkpointBefore(trx, leaf))?.madeAt;
    const sealed = { version, source: choice.source, part: choice.part, signedBefore };
    const found = await hash(trx, { from, to, ...sealed }, salts);
    const isDifferent = (at: number, index: number) =>
      !hashAt(found.hashes, index).equals(hashAt(leaves, at - position));
    const different = new Set(found.positions.filter(isDifferent));
    const twice = found.positions.filter((at, index) => at === found.positions[index - 1]);
    const isWhole = choice.source === undefined && choice.part === undefined;
    const lost = isWhole ? without(from, to, found.positions) : [];
    const leafOf = (at: number) => leaf + at - position;
    const rows = await readDifferent(trx, different, sealed);
    const rewritten = (found.rewritten ?? []).filter(({ position }) => !different.has(position));
    const findings = [
      ...rewritten.map((one) => ({
        ...one,
        leaves: [leafOf(one.position), leafOf(one.position) + 1] as const,
      })),
      ...lost.map((at) => lostEntry(at, leafOf(at))),
      ...twice.map((at) => secondRow(at, leafOf(at))),
      ...rows.map((row) => explain(row, leafOf(row.position), saltAt(salts, row.position - from), reasons)),
    ];
    const intact = new Set(found.positions).size - different.size - rewritten.length;
    return { leaves, intact, findings, late: found.late };
  });
}

/** A row that would be as it was sealed, and whose columns are not what its payload says. */
type Rewritten = VerifyFinding & { readonly position: number };

async function explainRewritten(trx: Trx, events: readonly SealedEvent[]): Promise<readonly Rewritten[]> {
  const rewritten = await findRewritten(trx, events);
  return events.flatMap(({ eventId, position, source, messageType }) => {
    const columns = eventId === null ? undefined : rewritten.get(eventId);
    if (eventId === null || columns === undefined) return [];
    const detail = `its payload contradicts ${columns.join(', ')}; it was sealed in this state`;
    return [{ state: 'ALTERED', subject: 'event', detail, eventId, position, source, messageType }];
  });
}

/** Hashes events, and may compare their columns with their payloads. */
type Hash = (
  ...given: Parameters<typeof hashEvents>
) => Promise<EventHashes & { readonly rewritten?: readonly Rewritten[] }>;

/** Hashes rows in this program: the database only has to send them. */
const hashHere: Hash = async (trx, range, salts) => {
  const hashes: Buffer[] = [];
  const positions: number[] = [];
  const rewritten: Rewritten[] = [];
  const bound = lateBefore(range.signedBefore);
  let late: LateEvents = { count: 0, earliest: null };
  for await (const events of sealedEvents(trx, range)) {
    for (const { position, record, receivedAt } of events) {
      hashes.push(leafHash(entryAt(salts, position - range.from, record)));
      positions.push(position);
      if (bound !== undefined && receivedAt !== null && receivedAt < bound)
        late = addLate(late, { count: 1, earliest: receivedAt });
    }
    rewritten.push(...(await explainRewritten(trx, events)));
  }
  return { hashes: Buffer.concat(hashes), positions, late, rewritten };
};

export const addLate = (one: LateEvents, other: LateEvents): LateEvents => ({
  count: one.count + other.count,
  earliest: [one.earliest, other.earliest].reduce((a, b) => (a !== null && (b === null || a < b) ? a : b)),
});

/** Reads the rows that differ, those beside each other together. */
async function readDifferent(
  trx: Trx,
  different: ReadonlySet<number>,
  sealed: Omit<SealedEvents, keyof Positions>,
): Promise<readonly SealedEvent[]> {
  const rows: SealedEvent[] = [];
  let range: Positions | undefined;
  for (const position of [...different, Infinity]) {
    if (range !== undefined && position > range.to + HASH_BYTES) {
      rows.push(...(await readSealedEvents(trx, { ...range, ...sealed }, NOTHING)));
      range = undefined;
    }
    range = { from: range?.from ?? position, to: position + 1 };
  }
  return rows.filter(({ position }) => different.has(position));
}

/** The positions of a range that are not in a list in ascending order. */
function without(from: number, to: number, positions: readonly number[]): readonly number[] {
  if (positions.length === to - from) return [];
  const found = new Set(positions);
  return Array.from({ length: to - from }, (_, index) => from + index).filter((at) => !found.has(at));
}

/** What is wrong with a position as such. */
const atPosition =
  (state: 'MISSING' | 'INSERTED', detail: string) =>
  (position: number, leaf: number): VerifyFinding => ({
    state,
    subject: 'event',
    detail,
    position,
    leaves: [leaf, leaf + 1],
  });

const lostEntry = atPosition('MISSING', 'the log has no entry at this position');

const secondRow = atPosition('INSERTED', 'the archive has a second row for the event at this position');

function explain(
  { record, position, eventId, occurredAt, source, messageType }: SealedEvent,
  leaf: number,
  salt: Buffer,
  { dropped, erased }: GoneReasons,
): VerifyFinding {
  const event = {
    subject: 'event',
    position,
    ...(eventId !== null && { eventId }),
    ...(occurredAt !== null && { occurredAt }),
    source,
    messageType,
    leaves: [leaf, leaf + 1],
  } as const;
  if (record !== null) return { state: 'ALTERED', detail: 'the row differs from its leaf', ...event };
  const erasure = eventId === null ? erasureOf(leaf, salt, erased) : undefined;
  if (erasure !== undefined) return { ...explainErasure(erasure), ...event };
  const month = dropped.find(
    (one) =>
      one.messageType === messageType &&
      position < one.before &&
      occurredAt !== null &&
      one.from <= occurredAt &&
      occurredAt < one.to,
  );
  if (month === undefined) return { state: 'MISSING', detail: 'the row is gone', ...event };
  const reason = `retention dropped the month: gap ${month.record}`;
  return month.isThere
    ? {
        state: 'MISSING',
        detail: `the row is gone, but not because ${reason}: the month still exists`,
        ...event,
      }
    : { state: 'EXPIRED', detail: reason, ...event };
}
