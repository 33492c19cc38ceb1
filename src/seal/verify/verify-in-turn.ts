import type { Db } from '../../store/server/database.ts';
import { readRunsBetween } from '../../store/seal/read-seals.ts';
import { readSealState } from '../../store/seal/seal-log.ts';
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
import { checkChunk } from './verify-log.ts';
import { readGoneReasons } from './verify-rows.ts';

/** 8,192 rows take about 100 ms of the server's processor: a fiftieth of a core. 10^7 rows take two hours, 10^8 a day. */
const PACE: VerificationPace = { intervalSeconds: 4.5, restSeconds: 60 };

/** More events than this that wait for their seal mean that storing needs the processor. */
const BUSY_EVENTS = 4_000;

const EVERYTHING = { positions: { from: 0, to: Number.MAX_SAFE_INTEGER } };

/**
 * Compares the leaves that are next with their rows, as `verify` does, and keeps what was found. Resolves with that; undefined if
 * nothing is due, or storing needs the processor.
 */
export async function verifyNext(db: Db, pace = PACE): Promise<Verification | undefined> {
  const { size, sealed, logged } = await readSealState(db);
  if (logged.to - sealed.to > BUSY_EVENTS) return undefined;
  const chunk = await nextToVerify(db, size, pace);
  if (chunk === undefined) return undefined;
  const found = await verifyChunk(db, chunk, size);
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
  let known = 0;
  for (const { firstLeaf: leaf, leaves: count, firstPosition, version } of await readRunsBetween(
    db,
    from,
    to,
  )) {
    const of = firstPosition === null ? 'statements' : { position: firstPosition, version };
    findings.push(...(await checkChunk(db, { leaf, count, of }, EVERYTHING, reasons)).findings);
    if (firstPosition !== null) {
      entries.push(...(await countEntries(db, { from: firstPosition, to: firstPosition + count })));
    }
    known += count;
  }
  return { findings, entries, known };
}

async function verifyChunk(db: Db, chunk: number, size: number): Promise<Verification> {
  const [from, to] = rangeOf(chunk, size);
  const { findings, entries, known } = await compareChunk(db, chunk, size);
  const count = (state: VerifyFinding['state'], some = findings) =>
    some.filter((finding) => finding.state === state).length;
  const sums = new Map<string, CountedEvents>();
  for (const { source, messageType, events } of entries) {
    const pair = `${source} ${messageType}`;
    sums.set(pair, { source, messageType, events: events + (sums.get(pair)?.events ?? 0) });
  }
  const events = Array.from(sums.values(), (sum): VerifiedEvents => {
    const some = findings.filter(
      ({ source, messageType }) => source === sum.source && messageType === sum.messageType,
    );
    return {
      ...sum,
      expired: count('EXPIRED', some),
      erased: count('ERASED', some),
      altered: count('ALTERED', some),
      missing: count('MISSING', some),
    };
  });
  // Leaves that nobody knows the rows of are missing, too.
  const missing = count('MISSING') + to - from - known;
  return { chunk, leaves: to - from, altered: count('ALTERED'), missing, events };
}
