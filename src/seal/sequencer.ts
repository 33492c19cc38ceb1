import type { Logger } from 'pino';
import type { Db } from '../store/server/database.ts';
import { assignPositions, readLastId } from '../store/log/extend-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';
import { sendHint } from '../store/server/hints.ts';

/** How often to look for stored events while there are some. */
const BUSY_POLL_MS = 50;
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

/** Whoever got a hint looks often for longer than this. */
const HINT_MS = 1_000;

/**
 * Creates a sequencer. Any number of processes may have one: the log is extended by one at a time, and by another at once
 * when that ends. While nothing is stored, it takes no transaction ids.
 */
export function createSequencer(db: Db, logger: Logger, pollMs = BUSY_POLL_MS) {
  let checkedTo: string | undefined;
  let hintedAt = -Infinity;
  let rest = pollMs;
  let wasIdle = false;
  return {
    /** Extends the log now if there is something. */
    async extend(): Promise<'done' | 'idle'> {
      // After a failure, the same id may be of another event: a standby takes over without the last ones.
      const known = checkedTo;
      checkedTo = undefined;
      // Before the log is extended: an id that is given meanwhile may be of an event that is not stored yet.
      const lastId = await readLastId(db);
      if (lastId === known) {
        checkedTo = known;
        wasIdle = true;
        rest = pollMs;
        return 'idle';
      }
      const began = performance.now();
      const extension = await assignPositions(db, HOLD_MS);
      const tookMs = performance.now() - began;
      // After a silence the first look only sees the event; a slow one must not delay the look that takes it.
      rest = wasIdle ? HOLD_MS : Math.max(pollMs, Math.min(REST_FACTOR * tookMs, MAX_REST_MS));
      wasIdle = false;
      if (extension === undefined) return 'done';
      const { added, isMore, isNewServer } = extension;
      if (isNewServer) {
        const message = 'the database is on another server than before: adding the rows that the log lacks';
        logger.warn({ added }, message);
      }
      if (!isMore) checkedTo = lastId;
      if (added > 0 && performance.now() - hintedAt > HINT_MS) {
        hintedAt = performance.now();
        void sendHint(db);
      }
      return 'done';
    },
    /** When to look again. */
    pauseMs: () => rest,
  };
}

/** Extends the log from now on. The tables must be up to date. */
export function startSequencing(db: Db, logger: Logger, started: AsyncDisposableStack, stores = true): void {
  const sequencer = createSequencer(db, logger, stores ? BUSY_POLL_MS : SPARE_POLL_MS);
  repeatInBackground(
    {
      part: 'sequencer',
      // Others find at once what this process has stored and not put into the log.
      leave: () => sendHint(db),
      failure: 'the log was not extended',
      pauseMs: () => sequencer.pauseMs(),
      work: () => sequencer.extend(),
    },
    logger,
    started,
  );
}
