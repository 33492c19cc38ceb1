import { setTimeout } from 'node:timers/promises';
import type { Clock } from './clock.ts';

const CLOCK: Pick<Clock, 'sleep'> = { sleep: (ms, signal) => setTimeout(ms, undefined, { signal }) };

/** Pollers look often for so long after something has happened. */
const AWAKE_MS = 2_000;

/** The pause between two looks after that: where hints arrive from other processes, and where they do not. */
const IDLE_MS = { hearing: 120_000, deaf: 1_000 };

/** Who looks at least so often looks at once when something happens. */
const PROMPT_MS = 200;

/**
 * When something last happened that pollers look for. Nothing rests on it for being right: what nobody told a process, its
 * pollers find after their idle pause.
 */
export class Activity {
  #last = performance.now();
  #hears = false;
  #bell = new AbortController();

  /** Something has happened: whoever rests looks now. */
  stir(): void {
    this.#last = performance.now();
    this.#bell.abort();
    this.#bell = new AbortController();
  }

  /** Whether other processes can stir this one from now on. What they did before may have been missed. */
  hear(hears: boolean): void {
    if (hears !== this.#hears) this.stir();
    this.#hears = hears;
  }

  /** Whether something happened just now. */
  isAwake(): boolean {
    return performance.now() - this.#last < AWAKE_MS;
  }

  /**
   * Pauses after a look that found nothing: for `busyMs` while things happen, else until something does. Who looks rarely
   * then waits for its usual pause: the first event after a silence is not to wait for everything that counts and seals it.
   */
  async rest(busyMs: number, signal?: AbortSignal, clock = CLOCK): Promise<void> {
    const idleMs = this.#hears ? IDLE_MS.hearing : IDLE_MS.deaf;
    const rests = idleMs > busyMs && !this.isAwake();
    const bell = this.#bell.signal;
    const stopping = signal === undefined ? [] : [signal];
    const sleep = (ms: number, signals: AbortSignal[]) =>
      clock.sleep(ms, AbortSignal.any(signals)).catch(() => undefined);
    await sleep(rests ? idleMs : busyMs, rests ? [...stopping, bell] : stopping);
    if (rests && bell.aborted && busyMs > PROMPT_MS) await sleep(busyMs, stopping);
  }
}

/** Of this process. */
export const activity = new Activity();
