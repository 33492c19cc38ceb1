/** Work of one process: pieces of it run beside each other, but one that may end the process runs alone. */
export class Company {
  readonly #running = new Set<Promise<unknown>>();
  #gate: Promise<unknown> = Promise.resolve();

  /** Runs work beside other work, once nothing runs alone. */
  async runBeside<T>(work: () => Promise<T>): Promise<T> {
    for (let gate; gate !== this.#gate; await gate) gate = this.#gate;
    const running = work().finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Runs work once all other work has ended; none begins before its end. */
  runAlone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#gate.then(() => Promise.allSettled(this.#running)).then(work);
    this.#gate = turn.catch(() => undefined);
    return turn;
  }
}
