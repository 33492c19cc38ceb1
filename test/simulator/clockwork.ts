import { toError } from '../../src/lib/errors.ts';

/** Something that is due at a time. */
export interface Due {
  at: number;
  order: number;
  /** Who it happens to; nothing happens to a process that has ended, and later to one that stands still. */
  readonly owner: Owner | undefined;
  /** A promise that it returns is waited for: time stands still meanwhile. */
  readonly run: () => void | Promise<void>;
  isCancelled: boolean;
}

/** Whom things happen to. */
export interface Owner {
  readonly isAlive: boolean;
  /** It stands still until this time. */
  readonly stillUntil: number;
}

/** Things of one time happen in this many turns at most: more never end. */
const MAX_TURNS_AT_ONCE = 5_000_000;

/** A pass of the event loop for each turn took a tenth of the time. */
const TURNS_OF_A_PASS = 64;

/** What is cancelled is removed once it is so much, and half of all that is due. */
const MOST_CANCELLED = 100;

/** Simulated time: things happen in the order of their times, each once all that follows from the last has been done. */
export class Clockwork {
  /** Milliseconds since the beginning. */
  now = 0;
  /** A number that differs if anything else happens, or in another order. */
  trace = 0x811c9dc5;
  #heap: Due[] = [];
  #cancelled = 0;
  #order = 0;
  #turnsAtOnce = 0;
  /** How much has happened. */
  turns = 0;

  after(ms: number, run: Due['run'], owner?: Owner): Due {
    const at = this.now + Math.max(0, ms);
    const due: Due = { at, order: this.#order, owner, run, isCancelled: false };
    this.#order += 1;
    this.#push(due);
    return due;
  }

  /** It does not happen. Most timers are cancelled: what these still held took a tenth of the time to keep and to collect. */
  cancel(due: Due): void {
    due.isCancelled = true;
    this.#cancelled += 1;
    if (this.#cancelled < MOST_CANCELLED || this.#cancelled < this.#heap.length / 2) return;
    this.#heap = this.#heap.filter(({ isCancelled }) => !isCancelled).toSorted(inOrder);
    this.#cancelled = 0;
  }

  /** How much is due to happen to somebody. */
  countOf(owner: Owner): number {
    return this.#heap.filter((due) => due.owner === owner && !due.isCancelled).length;
  }

  /** Runs until `isOver`, or until nothing is due any more. Rejects with what one of the things throws. */
  async run(isOver: () => boolean): Promise<void> {
    while (await this.#takeTurns(isOver));
  }

  /** Before each turn, Node.js does all that promises have to do. Resolves with whether there are further turns. */
  #takeTurns(isOver: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let waited: Promise<void> | undefined;
      let isEnded = false;
      const turn = () => {
        if (isEnded || waited !== undefined) return;
        try {
          const due = isOver() ? undefined : this.#next();
          isEnded = due === undefined;
          const running = due?.run();
          if (running instanceof Promise) waited = running;
        } catch (error) {
          isEnded = true;
          reject(toError(error));
        }
      };
      for (let at = 0; at < TURNS_OF_A_PASS; at += 1) setImmediate(turn);
      setImmediate(() => void Promise.resolve(waited).then(() => resolve(!isEnded), reject));
    });
  }

  /** Adds to the trace. */
  note(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.#mix(text.charCodeAt(at));
  }

  #mix(value: number): void {
    this.trace = Math.imul(this.trace ^ value, 0x01000193);
  }

  #next(): Due | undefined {
    for (;;) {
      const due = this.#pop();
      if (due === undefined) return undefined;
      const { owner } = due;
      if (due.isCancelled || owner?.isAlive === false) continue;
      if (owner !== undefined && owner.stillUntil > due.at) {
        due.at = owner.stillUntil;
        due.order = this.#order;
        this.#order += 1;
        this.#push(due);
        continue;
      }
      this.#turnsAtOnce = due.at > this.now ? 0 : this.#turnsAtOnce + 1;
      if (this.#turnsAtOnce > MAX_TURNS_AT_ONCE) throw new Error('time stands still: something never ends');
      this.now = Math.max(this.now, due.at);
      this.turns += 1;
      this.#mix(due.order);
      return due;
    }
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(due);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(due, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      let smaller = left;
      if (right !== undefined && isBefore(right, left)) {
        smaller = right;
        child += 1;
      }
      if (!isBefore(smaller, last)) break;
      heap[place] = smaller;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

const inOrder = (a: Due, b: Due) => a.at - b.at || a.order - b.order;
const isBefore = (a: Due, b: Due) => a.at < b.at || (a.at === b.at && a.order < b.order);
