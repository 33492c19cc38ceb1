/** What the worker of this process is doing, for readiness. */
export interface StoringProgress {
  /** A batch is to be stored. Returns the function to call when that has ended, however it ended. */
  began(): () => void;
  /** A transaction was committed. */
  stored(): void;
  /** A transaction failed and will be repeated until the database accepts it. */
  waiting(reason: string): void;
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
}

/** Creates the record of a worker that has not stored anything yet. */
export function createStoringProgress(): StoringProgress {
  let batches = 0;
  /** When batches began to wait: the first one, or the last transaction if that was later. */
  let since = 0;
  let lastStoredAt: number | undefined;
  let failure: string | undefined;
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
    state: () => ({ batches, waitingSince: batches === 0 ? undefined : since, lastStoredAt, failure }),
  };
}
