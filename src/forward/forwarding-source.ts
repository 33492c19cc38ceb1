import { activity } from '../lib/activity.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Db } from '../store/server/database.ts';
import {
  checkpoint,
  readCursors,
  recordFailure,
  releaseLease,
  takeLeases,
  type Checkpoint,
  type Cursor,
  type Holder,
  type Lease,
  type LeasedProgress,
} from '../store/destinations/destinations.ts';
import { openLog } from '../store/log/read-log.ts';
import { openSharedEvents } from '../store/events/shared-events.ts';
import { shared } from '../lib/cached.ts';

/**
 * What the destinations of a process share, so that many cost little more than one: they look at the same moments, read
 * the log, the events and the cursors once, and write their leases and cursors together.
 */
export type ForwardingSource = ReturnType<typeof openForwardingSource>;

/** How often to look for new events, and for a lease that another process holds, while something happens. */
const LOOK_MS = 100;

const SHARED_MS = 50;

/** If a process dies, another one takes over its destinations within this time. */
const LEASE_SECONDS = 30;

/** A lease that is younger needs no renewal. */
export const LEASE_RENEWAL_MS = 10_000;

/** One statement for all destinations of an installation. */
const TOGETHER = { maxItems: 1_000, maxBytes: Infinity };

/** With `stopping`, a look that is waited for comes at once when that is aborted. */
export function openForwardingSource(db: Db, stopping: readonly AbortSignal[] = []) {
  const log = openLog(db, SHARED_MS);
  const cursors = new Map<string, Cursor>();
  /** Counts what this process has written, so that what was read before does not hide it. */
  let writes = 0;
  const writtenAs = new Map<string, number>();
  const noteWritten = (name: string, cursor: Cursor | undefined) => {
    writes += 1;
    writtenAs.set(name, writes);
    if (cursor === undefined) cursors.delete(name);
    else cursors.set(name, cursor);
  };

  const takenAt = new Map<string, number>();
  let look: Promise<void> | undefined;
  const passLook = async () => {
    await activity.rest(LOOK_MS - (performance.now() % LOOK_MS), stopping);
    look = undefined;
  };

  const refresh = shared(async () => {
    try {
      const asOf = writes;
      const read = await readCursors(db);
      const names = new Set(read.map(({ name }) => name));
      for (const name of cursors.keys()) if (!names.has(name)) cursors.delete(name);
      for (const cursor of read) {
        if ((writtenAs.get(cursor.name) ?? 0) <= asOf) cursors.set(cursor.name, cursor);
      }
    } catch (error) {
      // The server may come back with an older state.
      cursors.clear();
      throw error;
    }
  }, SHARED_MS);

  const leases = new GroupCommit((holders: readonly Holder[]) => {
    const now = performance.now();
    for (const { holder } of holders) takenAt.set(holder, now);
    return takeLeases(db, holders, LEASE_SECONDS);
  }, TOGETHER);
  const saves = new GroupCommit((progress: readonly LeasedProgress[]) => checkpoint(db, progress), TOGETHER);

  async function take({ name, holder }: Holder): Promise<Lease | undefined> {
    const lease = (await leases.add({ name, holder }, 0)).get(name);
    if (lease !== undefined) noteWritten(name, { ...lease, name, holder });
    return lease;
  }

  return {
    db,
    log,
    events: openSharedEvents(log),
    /** The cursor of a destination, as of at most `SHARED_MS` ago, but never before what this process wrote. */
    async cursor(name: string): Promise<Cursor | undefined> {
      await refresh();
      return cursors.get(name);
    },
    /** Takes the lease of a destination, or renews it when it is due. Undefined while another one has it. */
    async lease({ name, holder }: Holder): Promise<Lease | undefined> {
      await refresh();
      const cursor = cursors.get(name);
      const isYoung = performance.now() - (takenAt.get(holder) ?? -Infinity) < LEASE_RENEWAL_MS;
      if (!isYoung || cursor?.holder !== holder) return take({ name, holder });
      return { ...cursor, position: cursor.position };
    },
    renew: async (holder: Holder) => void (await take(holder)),
    async release(holder: Holder): Promise<void> {
      takenAt.delete(holder.holder);
      await releaseLease(db, holder);
    },
    /** Moves the cursor of a destination (see `checkpoint`). Undefined if the lease was lost or somebody moved the cursor. */
    async save(progress: LeasedProgress): Promise<Checkpoint | undefined> {
      const saved = (await saves.add(progress, 0)).get(progress.name);
      const { name, holder, generation, position } = progress;
      // What this process knew of the cursor is wrong if nothing was saved: the same batch would be sent again at once.
      noteWritten(name, saved && { ...saved, name, holder, generation, position });
      return saved;
    },
    async recordFailure(holder: Holder, error: string, state: 'running' | 'refused'): Promise<void> {
      await recordFailure(db, holder, error, state);
      noteWritten(holder.name, undefined);
    },
    /** Resolves at the next moment at which all destinations look for new events, and for leases that others hold. */
    nextLook(): Promise<void> {
      look ??= passLook();
      return look;
    },
  };
}
