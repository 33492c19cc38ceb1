import { Worker } from 'node:worker_threads';
import { addCoverage, type Coverage } from './coverage.ts';
import type { History, Outcome } from './simulate.ts';

/** An outcome, with what happened if it was logged. */
export type Reported = Outcome & { readonly lines: readonly string[] };

/** What a thread is started with. */
export interface ThreadOptions {
  /** The name of a fault that is put into the program. */
  readonly plant?: string | undefined;
  readonly isLogged?: boolean | undefined;
  /** Receives what is executed. */
  readonly coverage?: Coverage | undefined;
}

/** Libraries may keep something of each life: after so many lives a new thread takes over. */
const MAX_LIVES = 1_000;

/** Simulates histories one by one, in a thread that is replaced now and then. */
export class SimulatingThread {
  readonly #options: ThreadOptions;
  #worker: Worker | undefined;
  #lives = 0;

  constructor(options: ThreadOptions = {}) {
    this.#options = options;
  }

  async simulate(history: History): Promise<Reported> {
    if (this.#lives > MAX_LIVES) await this.end();
    const { plant, isLogged = false, coverage } = this.#options;
    const workerData = { plant, isLogged, isCovered: coverage !== undefined };
    this.#worker ??= new Worker(new URL('batch.ts', import.meta.url), { workerData });
    const reported = await this.#ask<Reported>(history);
    this.#lives += reported.lives;
    return reported;
  }

  async end(): Promise<void> {
    const { coverage } = this.#options;
    if (coverage !== undefined && this.#worker !== undefined)
      addCoverage(coverage, await this.#ask<Coverage>('coverage'));
    await this.#worker?.terminate();
    this.#worker = undefined;
    this.#lives = 0;
  }

  async #ask<T>(message: History | 'coverage'): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#worker?.once('message', resolve).once('error', reject);
    this.#worker?.postMessage(message);
    const answer = await promise;
    this.#worker?.off('error', reject);
    return answer;
  }
}
