import { Worker } from 'node:worker_threads';
import type { History, Outcome } from './simulate.ts';

/** An outcome, with what happened if it was logged. */
export type Reported = Outcome & { readonly lines: readonly string[] };

/** Modules that were loaded for a life are never unloaded: after so many lives a new thread takes over. */
const MAX_LIVES = 150;

/** Simulates histories one by one, in a thread that is replaced now and then. */
export class SimulatingThread {
  readonly #data: { readonly plant: string | undefined; readonly isLogged: boolean };
  #worker: Worker | undefined;
  #lives = 0;

  constructor(plant?: string, isLogged = false) {
    this.#data = { plant, isLogged };
  }

  async simulate(history: History): Promise<Reported> {
    if (this.#lives > MAX_LIVES) await this.end();
    this.#worker ??= new Worker(new URL('batch.ts', import.meta.url), { workerData: this.#data });
    this.#worker.postMessage(history);
    const { promise, resolve, reject } = Promise.withResolvers<Reported>();
    this.#worker.once('message', resolve).once('error', reject);
    const reported = await promise;
    this.#worker.off('error', reject);
    this.#lives += reported.lives;
    return reported;
  }

  async end(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
    this.#lives = 0;
  }
}
