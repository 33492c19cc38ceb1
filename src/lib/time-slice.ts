import { setImmediate as nextTurn } from 'node:timers/promises';

/** After so long, the event loop gets a turn, to send the ingest answers that are ready. */
const MAX_MS = 4;

/** Work on the event loop, with a rest after each 4 ms. */
export class TimeSlice {
  #began = performance.now();

  isOver(): boolean {
    return performance.now() - this.#began > MAX_MS;
  }

  async rest(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
  }
}
