import type { Logger } from 'pino';
import type { Db } from '../store/server/database.ts';
import { assignPositions, readLastId } from '../store/log/extend-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';

/** How often to look for stored events: while there are some, and after a while without any. */
const BUSY_POLL_MS = 50;
const IDLE_POLL_MS = 100;
const IDLE_AFTER_MS = 5_000;
/** The same in a process that stores nothing: those that do look often enough. */
const SPARE_POLL_MS = 1_000;

/**
 * The pause is so many times as long as the last look took, up to a limit: a look costs the server 3 ms beside 3 us an
 * event, which at full load was a twentieth of the machine.
 */
const REST_FACTOR = 8;
const MAX_REST_MS = 250;

/**
 * How long an event waits for those that were received before it: workers store several deliveries at once, and which one is
 * stored first is chance. Two looks pass until then.
 */
const HOLD_MS = 80;

/**
 * Creates a sequencer. Any number of processes may have one: the log is extended by one at a time, and by another at once
 * when that ends. While nothing is stored, it takes no transaction ids.
 */
export function createSequencer(db: Db, logger: Logger, idleMs = IDLE_POLL_MS) {
  let checkedTo: string | undefined;
  let lastBusy = performance.now();
  let rest = BUSY_POLL_MS;
  return {
    /** Extends the log now if there is something. */
    async extend() {
      // Before the log is extended: an id that is given meanwhile may be of an event that is not stored yet.
      const lastId = await readLastId(db);
      if (lastId === checkedTo) return;
      lastBusy = performance.now();
      const extension = await assignPositions(db, HOLD_MS);
      const tookMs = performance.now() - lastBusy;
      rest = Math.min(Math.max(BUSY_POLL_MS, REST_FACTOR * tookMs), MAX_REST_MS);
      if (extension === undefined) return;
      const { added, isMore, isNewServer } = extension;
      if (isNewServer) {
        const message =
          'the database is on another server than before: the log continues with what it did not have yet';
        logger.warn({ added }, message);
      }
      checkedTo = isMore ? undefined : lastId;
    },
    /** When to look again. */
    pauseMs: () => (performance.now() - lastBusy > IDLE_AFTER_MS ? idleMs : rest),
  };
}

/** Extends the log from now on. The tables must be up to date. */
export function startSequencing(db: Db, logger: Logger, started: AsyncDisposableStack, stores = true): void {
  const sequencer = createSequencer(db, logger, stores ? IDLE_POLL_MS : SPARE_POLL_MS);
  repeatInBackground(
    {
      part: 'sequencer',
      failure: 'the log was not extended',
      pauseMs: () => sequencer.pauseMs(),
      work: () => sequencer.extend(),
    },
    logger,
    started,
  );
}
