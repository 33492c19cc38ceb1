/** A list of at least one item. */
export type NonEmpty<T> = readonly [T, ...T[]];

/** Reproducible chance: the same seed and stream give the same choices in the same order. */
export interface Random {
  /** A whole number from `min` to `max`, both inclusive. */
  int(min: number, max: number): number;
  /** True with this probability, 0 to 1. */
  chance(share: number): boolean;
  pick<T>(items: NonEmpty<T>): T;
  /** One of the items, undefined if there are none. */
  pickAny<T>(items: readonly T[]): T | undefined;
  /** Upper-case hexadecimal digits, as many as given. */
  hex(digits: number): string;
}

/** Creates the source of chance for one purpose. Purposes (streams) do not influence each other. */
export function createRandom(seed: number, stream: string): Random {
  const next = mulberry32(fnv1a(`${seed}:${stream}`));
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    int,
    chance: (share) => next() < share,
    pick: (items) => items[int(0, items.length - 1)] ?? items[0],
    pickAny: (items) => items[int(0, items.length - 1)],
    hex: (digits) => Array.from({ length: digits }, () => int(0, 15).toString(16).toUpperCase()).join(''),
  };
}

/** Tommy Ettinger's generator with 32 bits of state (public domain), by its seed: numbers from 0 (inclusive) to 1 (exclusive). */
export function mulberry32(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
