/** The globals of one life of a process that have to do with time and chance. */
import { webcrypto } from 'node:crypto';
import type { Due } from '../clockwork.ts';
import { startingProcess } from '../simulated-process.ts';

const self = startingProcess();

class Timer {
  readonly #due: Due | undefined;

  constructor(due?: Due) {
    this.#due = due;
  }
  cancel(): void {
    if (this.#due !== undefined) self.surroundings.clockwork.cancel(this.#due);
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

class Interval extends Timer {
  readonly #run: () => void;
  readonly #ms: number;
  #isOver = false;

  constructor(run: () => void, ms: number) {
    super();
    this.#run = run;
    this.#ms = Math.max(1, ms);
    this.#again();
  }
  override cancel(): void {
    this.#isOver = true;
  }
  #again(): void {
    self.after(this.#ms, () => {
      if (this.#isOver) return;
      this.#run();
      this.#again();
    });
  }
}

type Callback = (...given: unknown[]) => void;

export const setTimeout = (run: Callback, ms = 0, ...given: unknown[]) =>
  new Timer(self.after(Math.max(1, ms), () => run(...given)));
export const setInterval = (run: Callback, ms = 0, ...given: unknown[]) =>
  new Interval(() => run(...given), ms);
export const setImmediate = (run: Callback, ...given: unknown[]) =>
  new Timer(self.after(0, () => run(...given)));
export const clearTimeout = (timer?: Timer) => timer?.cancel();
export const clearInterval = (timer?: Timer) => clearTimeout(timer);
export const clearImmediate = (timer?: Timer) => clearTimeout(timer);

export const { sealStep } = self.surroundings;
export const performance = { now: () => self.surroundings.clockwork.now - self.bornAt };

const RealDate = globalThis.Date;
export const Date = new Proxy(RealDate, {
  construct: (target, given: []) =>
    given.length === 0 ? new target(self.readClock()) : new target(...given),
  get: (target, name): unknown => (name === 'now' ? () => self.readClock() : Reflect.get(target, name)),
});

export const Math = new Proxy(globalThis.Math, {
  get: (target, name): unknown => (name === 'random' ? self.nextRandom : Reflect.get(target, name)),
});

export function getRandomValues<T extends Uint8Array>(bytes: T): T {
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = self.nextRandom() * 256;
  return bytes;
}

export const crypto = { subtle: webcrypto.subtle, getRandomValues };
