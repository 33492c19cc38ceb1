/** What the worker of this process is doing, for readiness. */
export interface StoringProgress {
  /** A batch is to be stored. Returns the function to call when that has ended, however it ended. */
  began(): () => void;
  /** A transaction was committed. */
  stored(): void;
  /** A transaction failed and will be repeated until the database accepts it. */
  waiting(reason: string): void;
  /** A job of this version was left to a newer worker. */
  tooNew(version: number): void;
  state(): StoringState;
}

/** What a worker is doing. Times are epoch milliseconds. */
interface StoringState {
  /** Batches that are not stored yet. */
  readonly batches: number;
  /** Since when batches have been waiting although nothing was stored; undefined if there are none. */
  readonly waitingSince: number | undefined;
  /** Undefined: nothing since the start of the process. */
  readonly lastStoredAt: number | undefined;
  /** Why transactions are being repeated; undefined once one has succeeded. */
  readonly failure: string | undefined;
  /** The version of the jobs that were left to a newer worker in the last two minutes; undefined: none. */
  readonly newerVersion: number | undefined;
}

/** A worker looks at such a job again every minute. */
const NEWER_FOR_MS = 2 * 60 * 1000;

/** Creates the record of a worker that has not stored anything yet. */
export function createStoringProgress(): StoringProgress {
  let batches = 0;
  /** When batches began to wait: the first one, or the last transaction if that was later. */
  let since = 0;
  let lastStoredAt: number | undefined;
  let failure: string | undefined;
  let newer = { version: 0, at: -Infinity };
  return {
    began() {
      if (batches === 0) since = Date.now();
      batches += 1;
      return () => {
        batches -= 1;
        if (batches === 0) failure = undefined;
      };
    },
    stored() {
      lastStoredAt = Date.now();
      since = lastStoredAt;
      failure = undefined;
    },
    waiting(reason) {
      failure = reason;
    },
    tooNew(version) {
      newer = { version, at: Date.now() };
    },
    state: () => ({
      batches,
      waitingSince: batches === 0 ? undefined : since,
      lastStoredAt,
      failure,
      newerVersion: Date.now() - newer.at < NEWER_FOR_MS ? newer.version : undefined,
    }),
  };
}
