/** A list with something in it. */
export type NonEmpty<T> = readonly [T, ...T[]];

/** Chance that repeats itself: the same seed and stream give the same choices in the same order. */
export interface Random {
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number;
  /** True in this share of the cases, 0 to 1. */
  chance(share: number): boolean;
  pick<T>(items: NonEmpty<T>): T;
  /** One of the items, undefined where there are none. */
  pickAny<T>(items: readonly T[]): T | undefined;
  /** So many hexadecimal digits, upper case. */
  hex(digits: number): string;
}

/** Creates the source of chance for one purpose; purposes (streams) do not disturb each other. */
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

/** Tommy Ettinger's generator of 32 bits of state (public domain): numbers from 0 up to, not including, 1. */
function mulberry32(state: number): () => number {
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
