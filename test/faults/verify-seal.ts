import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import { verifyLog } from '../../src/seal/verify/verify-log.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { readSealState } from '../../src/store/seal/seal-log.ts';
import { nothingKnown } from '../support/trust.ts';

/** What verifying the log came to. */
export interface SealVerdict {
  /** Leaves whose rows are as they were sealed. */
  readonly intact: number;
  /** Stored events that were not sealed in time. */
  readonly unsealed: number;
  /** What is altered, missing or inserted. */
  readonly findings: readonly string[];
}

const LOOK_EVERY_MS = 250;

/** Waits until all stored events are sealed, or the time is over; then verifies all rows, counts and checkpoints. */
export async function verifySeal(
  databaseUrl: string,
  patienceMs: number,
  signal: AbortSignal,
): Promise<SealVerdict> {
  const db = openDatabase(databaseUrl, () => undefined);
  try {
    const deadline = Date.now() + patienceMs;
    let unsealed = await countUnsealed(db);
    while (unsealed > 0 && Date.now() < deadline) {
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      unsealed = await countUnsealed(db);
    }
    const findings: string[] = [];
    const onFinding = ({ state, subject }: VerifyFinding) => findings.push(`${state} ${subject}`);
    const { intact } = await verifyLog(
      db,
      { anchors: [], trust: await nothingKnown() },
      onFinding,
      () => undefined,
    );
    return { intact, unsealed, findings };
  } finally {
    await db.destroy();
  }
}

async function countUnsealed(db: Db): Promise<number> {
  const stored = await sql<{ events: string }>`
    select coalesce(sum(event_count), 0) as events from conservation`.execute(db);
  const { sealed } = await readSealState(db);
  return Number(stored.rows[0]?.events) - (sealed.to - sealed.from);
}
