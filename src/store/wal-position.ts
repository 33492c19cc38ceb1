import type { Db } from './database.ts';
import { findStoredDeliveries } from './deliveries.ts';
import { firstRow, run } from './statement.ts';

/**
 * Looks up which of these deliveries are stored, and where the write-ahead log of the same server ends then: their commits are
 * before it. `replicas` is the number of replicas whose log counts as replicated; 0: none does.
 */
export async function locateDeliveries(db: Db, deliveryIds: readonly string[], replicas: number) {
  // On one connection: while a standby takes over, two connections may lead to two servers.
  return db.transaction().execute(async (trx) => {
    const stored =
      deliveryIds.length === 0 ? new Set<string>() : await findStoredDeliveries(trx, deliveryIds);
    // The service's role inherits nothing, so a right that an administrator grants must be taken on.
    if (replicas > 0) {
      await run(trx)`
        select set_config('role', 'pg_read_all_stats', true) where pg_has_role('pg_read_all_stats', 'member')
          and not pg_has_role('pg_read_all_stats', 'usage')`;
    }
    const row = await firstRow<{ file: string; bytes: string; replicated: string | null }>(trx)`
      select pg_walfile_name(pg_current_wal_insert_lsn()) as file,
        (pg_current_wal_insert_lsn() - '0/0')::text as bytes,
        (select (flush_lsn - '0/0')::text from pg_stat_replication
          where flush_lsn is not null order by flush_lsn desc
          offset ${Math.max(0, replicas - 1)} limit ${Math.min(1, replicas)}) as replicated
      from pg_is_in_recovery() as is_standby where not is_standby`;
    /** Undefined if the server is a standby. */
    const at = row && {
      /** Rises when a standby takes over, and when a backup is restored to a point in time. */
      timeline: Number.parseInt(row.file.slice(0, 8), 16),
      /** Bytes from the beginning of the log. */
      bytes: BigInt(row.bytes),
      /** Up to where enough replicas have the log on their disks; undefined: unknown, or they are fewer. */
      replicatedBytes: row.replicated === null ? undefined : BigInt(row.replicated),
    };
    return { stored, at };
  });
}
