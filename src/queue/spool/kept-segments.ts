import type { Logger } from 'pino';
import { countOf } from '../../lib/text/units.ts';
import type { Spool } from './spool.ts';

/** A place in the log of the database server, in which replicas follow. */
interface LogPosition {
  readonly timeline: number;
  readonly bytes: bigint;
  readonly replicatedBytes: bigint | undefined;
}

/** Deliveries that the database contains, and the end of its log then; undefined: it does not write one. */
export interface Found {
  readonly stored: ReadonlySet<string>;
  readonly at?: LogPosition | undefined;
}

/** Looks up which of these deliveries are committed in the database. */
export type FindStored = (deliveryIds: readonly string[]) => Promise<Found>;

/** Keeps the confirmed segments of a spool for so long at most, in ms. */
export function createKeptSegments(spool: Spool, findStored: FindStored, keepMs: number, logger: Logger) {
  const kept = new Map<string, { readonly bytes: bigint; readonly confirmedAt: number }>();
  let last: LogPosition | undefined;

  /** A server that was restored from a copy may continue on the same timeline, from an earlier position. */
  const isSameServer = (at: LogPosition) =>
    last === undefined || (at.timeline === last.timeline && at.bytes >= last.bytes);

  return {
    /**
     * Looks where the log of the database is, and removes the segments that need not be kept any longer. When another server
     * has taken over, returns the segments to the spool, to be looked up again, with their names.
     */
    async review(): Promise<readonly string[]> {
      if (keepMs === 0) return [];
      const { at } = await findStored([]);
      if (at === undefined) return [];
      const before = last;
      const isSame = isSameServer(at);
      last = at;
      if (!isSame) {
        kept.clear();
        const recalled = spool.recall();
        logger.warn(
          { timeline: at.timeline, before: before?.timeline },
          `another database server took over, or an earlier state was restored: looking up the deliveries of ${countOf(recalled.length, 'spool segment')} again`,
        );
        return recalled;
      }
      for (const [segment, { bytes, confirmedAt }] of kept) {
        const isReplicated = at.replicatedBytes !== undefined && at.replicatedBytes >= bytes;
        if (!isReplicated && performance.now() - confirmedAt < keepMs) continue;
        kept.delete(segment);
        await spool.remove(segment);
      }
      return [];
    },
    /** Keeps or removes a segment whose deliveries were found committed. */
    async confirm(segment: string, found: readonly Found[]): Promise<void> {
      if (keepMs === 0) return spool.remove(segment);
      let bytes = 0n;
      for (const { at } of found) {
        // Another server than in this round's review: the next round looks again.
        if (at === undefined || !isSameServer(at)) return undefined;
        if (at.bytes > bytes) bytes = at.bytes;
      }
      kept.set(segment, { bytes, confirmedAt: performance.now() });
      spool.keep(segment);
    },
  };
}
