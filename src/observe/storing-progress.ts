/** A worker looks at such a job again every minute. */
const NEWER_FOR_MS = 2 * 60 * 1000;

/** What the worker of this process is doing, for readiness. */
export class StoringProgress {
  #batches = 0;
  /** When batches began to wait: the first one, or the last transaction if that was later. */
  #since = 0;
  #lastStoredAt: number | undefined;
  #failure: string | undefined;
  #newer = { version: 0, at: -Infinity };

  began(): void {
    if (this.#batches === 0) this.#since = Date.now();
    this.#batches += 1;
  }

  /** The storing of a batch has ended, however it ended. */
  ended(): void {
    this.#batches -= 1;
    if (this.#batches === 0) this.#failure = undefined;
  }

  stored(): void {
    this.#lastStoredAt = Date.now();
    this.#since = this.#lastStoredAt;
    this.#failure = undefined;
  }

  /** A transaction failed and will be repeated until the database accepts it. */
  waiting(reason: string): void {
    this.#failure = reason;
  }

  tooNew(version: number): void {
    this.#newer = { version, at: Date.now() };
  }

  state() {
    return {
      batches: this.#batches,
      waitingSince: this.#batches === 0 ? undefined : this.#since,
      lastStoredAt: this.#lastStoredAt,
      failure: this.#failure,
      newerVersion: Date.now() - this.#newer.at < NEWER_FOR_MS ? this.#newer.version : undefined,
    };
  }
}
