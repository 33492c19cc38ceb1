import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Whether everything that was acknowledged adds up (view `conservation`). */
export interface Conservation {
  readonly deliveries: number;
  /** `source message_type` of each pair that does not add up. */
  readonly unbalanced: readonly string[];
  /** What lies in quarantine and nobody has replayed or discarded. */
  readonly openInQuarantine: number;
}

/** Adds up every delivery: slow where there are many millions. */
export async function readConservation(db: Db): Promise<Conservation> {
  const { rows } = await sql<{ pair: string; deliveries: string; addsUp: boolean; open: string }>`
    select source || ' ' || message_type as pair, delivery_count as deliveries, adds_up as "addsUp",
      open_count as open
    from conservation`.execute(db);
  return {
    deliveries: rows.reduce((sum, row) => sum + Number(row.deliveries), 0),
    unbalanced: rows.filter((row) => !row.addsUp).map((row) => row.pair),
    openInQuarantine: rows.reduce((sum, row) => sum + Number(row.open), 0),
  };
}
