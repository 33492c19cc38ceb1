import { randomInt } from 'node:crypto';
import type { Db } from '../../store/server/database.ts';
import { readRunsBetween, type SealRun } from '../../store/seal/read-seals.ts';
import { isStoringBusy, readSealState, readTile } from '../../store/seal/seal-log.ts';
import { hashAt, HASH_BYTES, tileRoot, TILE_WIDTH } from '../merkle-tree.ts';
import {
  CHUNK_LEAVES,
  countEntries,
  keepVerification,
  nextToVerify,
  type CountedEvents,
  type Verification,
  type VerificationPace,
  type VerifiedEvents,
} from '../../store/seal/verifications.ts';
import { isDifference, type VerifyFinding } from './finding.ts';
import { checkChunk, chunkOf, partOf, type Chunk } from './verify-log.ts';
import { EVERYTHING, readGoneReasons, type GoneReasons, type RowResult } from './verify-rows.ts';

/** 8,192 rows take about 100 ms of the server's processor: a fiftieth of a core. 10^7 rows take two hours, 10^8 a day. */
const PACE: VerificationPace = { intervalSeconds: 4.5, restSeconds: 60 };

/**
 * Compares the leaves that are next with their rows, as `verify` does, and keeps what was found. `events` reads those of the archive, too. Resolves with that; undefined if
 * nothing is due, or storing needs the processor.
 */
export async function verifyNext(db: Db, pace = PACE, events = db): Promise<Verification | undefined> {
  const state = await readSealState(db);
  if (isStoringBusy(state)) return undefined;
  const chunk = await nextToVerify(db, state.size, pace);
  if (chunk === undefined) return undefined;
  const found = await verifyChunk(events, chunk, state.size);
  await keepVerification(db, found);
  return found;
}

/** What differs in the leaves of a chunk now. */
export async function findDifferences(db: Db, chunk: number): Promise<readonly VerifyFinding[]> {
  const { size } = await readSealState(db);
  const { findings } = await compareChunk(db, chunk, size);
  return findings.filter(isDifference);
}

const rangeOf = (chunk: number, size: number) =>
  [chunk * CHUNK_LEAVES, Math.min((chunk + 1) * CHUNK_LEAVES, size)] as const;

async function compareChunk(db: Db, chunk: number, size: number) {
  const [from, to] = rangeOf(chunk, size);
  const reasons = await readGoneReasons(db);
  const findings: VerifyFinding[] = [];
  const entries: CountedEvents[] = [];
  const hashes: Buffer[] = [];
  let known = 0;
  const runs = await readRunsBetween(db, from, to);
  for (const run of runs) {
    const { firstPosition: first, leaves: count } = run;
    const checked = await checkChunk(db, chunkOf(run), EVERYTHING, reasons);
    findings.push(...checked.findings, ...(await checkSample(db, chunkOf(run), reasons, checked)));
    hashes.push(checked.leaves);
    if (first !== null) entries.push(...(await countEntries(db, { from: first, to: first + count })));
    known += count;
  }
  // Where leaves are unknown, those after them are not at their place.
  const tiles = known === to - from ? await checkTiles(db, from, Buffer.concat(hashes)) : [];
  return {
    findings: [...findings, ...tiles],
    entries,
    known,
    unproven: await countUnproven(db, runs, tiles),
  };
}

/** Counts the events whose leaves are not those of the tree: any of them may have been changed together with its leaf. */
async function countUnproven(
  db: Db,
  runs: readonly SealRun[],
  tiles: readonly VerifyFinding[],
): Promise<readonly CountedEvents[]> {
  const entries: CountedEvents[] = [];
  for (const { leaves: [low, high] = [0, 0] } of tiles) {
    for (const { firstLeaf, leaves, firstPosition } of runs) {
      const first = Math.max(low - firstLeaf, 0);
      const end = Math.min(high - firstLeaf, leaves);
      if (firstPosition === null || first >= end) continue;
      entries.push(...(await countEntries(db, { from: firstPosition + first, to: firstPosition + end })));
    }
  }
  return entries;
}

/** Events of a chunk, at random, whose columns are read again from their payloads: for all, it would take a tenth of a core. */
const SAMPLE = 512;

/** What a sample shows beyond what was found. */
async function checkSample(
  db: Db,
  chunk: Chunk,
  reasons: GoneReasons,
  { findings }: RowResult,
): Promise<readonly VerifyFinding[]> {
  if (typeof chunk.of !== 'object') return [];
  const count = Math.min(chunk.count, SAMPLE);
  const sample = partOf(chunk, randomInt(chunk.count - count + 1), count);
  const checked = await checkChunk(db, sample, { ...EVERYTHING, isFull: true }, reasons);
  const known = new Set(findings.map(({ leaves }) => leaves?.[0]));
  return checked.findings.filter(({ leaves }) => !known.has(leaves?.[0]));
}

/**
 * Compares full tiles of leaves with the level above, and that with the one above it: whoever changed a row and its leaf had
 * to change all of them, up to a root that the checkpoint which this machine has seen does not have.
 */
async function checkTiles(db: Db, from: number, leaves: Buffer): Promise<readonly VerifyFinding[]> {
  const findings: VerifyFinding[] = [];
  const compare = async (level: number, number: number, tile: Buffer) => {
    const above = hashAt(await readTile(db, level + 1, Math.floor(number / TILE_WIDTH)), number % TILE_WIDTH);
    if (tileRoot(tile).equals(above)) return;
    const width = TILE_WIDTH ** (level + 1);
    const detail = `the leaves differ from the tree's tiles of level ${level + 1}`;
    const range = [number * width, (number + 1) * width] as const;
    findings.push({ state: 'ALTERED', subject: 'leaves', detail, leaves: range });
  };
  const [first, bytes] = [from / TILE_WIDTH, TILE_WIDTH * HASH_BYTES];
  for (let at = 0; at + bytes <= leaves.length; at += bytes) {
    await compare(0, first + at / bytes, leaves.subarray(at, at + bytes));
  }
  for (let level = 1, number = Math.floor(first / TILE_WIDTH); ; level += 1) {
    const tile = await readTile(db, level, number);
    if (tile.length < bytes) return findings;
    await compare(level, number, tile);
    number = Math.floor(number / TILE_WIDTH);
  }
}

async function verifyChunk(db: Db, chunk: number, size: number): Promise<Verification> {
  const [from, to] = rangeOf(chunk, size);
  const { findings, entries, known, unproven } = await compareChunk(db, chunk, size);
  const sums = new Map<string, CountedEvents>();
  for (const { source, messageType, events } of entries) {
    const pair = `${source} ${messageType}`;
    sums.set(pair, { source, messageType, events: events + (sums.get(pair)?.events ?? 0) });
  }
  const events = Array.from(sums.values(), (sum): VerifiedEvents => {
    const isOfSum = ({ source, messageType }: Partial<CountedEvents>) =>
      source === sum.source && messageType === sum.messageType;
    const some = findings.filter(isOfSum);
    const [expired, erased, missing] = [
      count('EXPIRED', some),
      count('ERASED', some),
      count('MISSING', some),
    ];
    const suspect = unproven.filter(isOfSum).reduce((all, one) => all + one.events, 0);
    const altered = Math.max(
      count('ALTERED', some),
      Math.min(suspect, sum.events - expired - erased - missing),
    );
    return { ...sum, expired, erased, altered, missing };
  });
  // Leaves that nobody knows the rows of are missing, too.
  const missing = count('MISSING', findings) + to - from - known;
  return { chunk, leaves: to - from, altered: count('ALTERED', findings), missing, events };
}

const count = (state: VerifyFinding['state'], findings: readonly VerifyFinding[]) =>
  findings.filter((finding) => finding.state === state).length;
