import { sql } from 'kysely';
import type { Db } from './database.ts';

/** What in quarantine nobody has decided about. */
export interface OpenQuarantine {
  /** Counted no further than to MAX_OPEN_COUNT + 1. */
  readonly count: number;
  readonly oldestReceivedAt: Date | null;
}

/** Counting on would take long, and whoever has more has the same to do. */
export const MAX_OPEN_COUNT = 10_000;

/** Counts what is open in quarantine, quickly however much lies there. */
export async function readOpenQuarantine(db: Db): Promise<OpenQuarantine> {
  const { rows } = await sql<OpenQuarantine>`
    select count(*)::int as count, min(received_at) as "oldestReceivedAt" from (
      select received_at from quarantine where resolution is null
      order by received_at, quarantine_id limit ${MAX_OPEN_COUNT + 1}
    ) as open`.execute(db);
  return rows[0] ?? { count: 0, oldestReceivedAt: null };
}
