import { sql } from 'kysely';
import type { Db } from './database.ts';

/** What the database server says of itself. */
export interface ServerFacts {
  /** Such as 17 of "17.4". */
  readonly majorVersion: number;
  readonly version: string;
  /** A standby, or one that was set to read only: nothing can be stored. */
  readonly isReadOnly: boolean;
  /** Bytes of the whole database on the server's disk. */
  readonly bytes: number;
}

/** Asks the server what it is. */
export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const { rows } = await sql<{ number: string; version: string; readOnly: boolean; bytes: string }>`
    select current_setting('server_version_num') as number, current_setting('server_version') as version,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "readOnly",
      pg_database_size(current_database()) as bytes`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database says nothing of itself');
  return {
    majorVersion: Math.floor(Number(row.number) / 10_000),
    version: row.version,
    isReadOnly: row.readOnly,
    bytes: Number(row.bytes),
  };
}

/** The server's clock, in epoch milliseconds. */
export async function readServerTime(db: Db): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database does not tell the time');
  return row.now.getTime();
}
