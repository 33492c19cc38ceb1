import { systemClock, type Clock } from './clock.ts';

/** Recent activity may continue for this long: until then, pollers keep their own pace. */
const AWAKE_MS = 2_000;

/** The pause of a poller at rest, if other processes can send hints, of which some may be lost, and if they cannot. */
const REST_MS = { told: 120_000, untold: 1_000 };

/** A poller of this pace looks at once when something happens. A slower one first lets the event pass. */
const PROMPT_MS = 200;

/** When this process last had something to do. Nothing else depends on it than how often a poller looks that finds nothing. */
export class Activity {
  #last = performance.now();
  #restMs = REST_MS.untold;
  #bell: AbortController | undefined;

  /** Something has happened: pollers at rest look again. */
  stir(): void {
    this.#last = performance.now();
    this.#bell?.abort();
    this.#bell = undefined;
  }

  /** Whether other processes can stir this one from now on. A hint of before may have been missed. */
  setTold(isTold: boolean): void {
    const restMs = isTold ? REST_MS.told : REST_MS.untold;
    if (restMs !== this.#restMs) this.stir();
    this.#restMs = restMs;
  }

  quietMs = () => performance.now() - this.#last;

  /** Pauses after a look that found nothing: for `ownMs` while things happen, else until something does. */
  async rest(
    ownMs: number,
    stopping: readonly AbortSignal[] = [],
    clock: Clock = systemClock,
  ): Promise<void> {
    const sleep = (ms: number, ...more: AbortSignal[]) =>
      clock.sleep(ms, AbortSignal.any([...stopping, ...more])).catch(() => undefined);
    if (this.#restMs <= ownMs || this.quietMs() < AWAKE_MS) return sleep(ownMs);
    const { signal: bell } = (this.#bell ??= new AbortController());
    await sleep(this.#restMs, bell);
    if (bell.aborted && ownMs > PROMPT_MS) await sleep(ownMs);
  }
}

/** Of this process. */
export const activity = new Activity();
