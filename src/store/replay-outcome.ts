import type { Resolution } from './database.ts';
import type { ReplayAccount } from './resolve-quarantine.ts';

/** What came of the replay of something quarantined. */
export type Replay = { readonly quarantineId: string } & (
  | ({ readonly kind: 'replayed'; readonly deliveryId: string } & ReplayAccount)
  /** It had been resolved before; nothing was done. */
  | {
      readonly kind: 'resolved';
      readonly resolution: Resolution;
      readonly resolvedAt: Date;
      readonly deliveryId: string | null;
    }
  /** It cannot be taken now, as a new delivery could not, and stays open. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' }
);

/** What replays came to; `left` stayed open, or is not there. */
export interface ReplaySums {
  readonly replayed: number;
  readonly events: number;
  readonly duplicates: number;
  readonly again: number;
  readonly left: number;
}

export const NO_REPLAYS: ReplaySums = { replayed: 0, events: 0, duplicates: 0, again: 0, left: 0 };

/** The sums with one replay more. */
export function addReplay(sums: ReplaySums, replay: Replay): ReplaySums {
  switch (replay.kind) {
    case 'replayed':
      return {
        replayed: sums.replayed + 1,
        events: sums.events + replay.events,
        duplicates: sums.duplicates + replay.duplicates,
        again: sums.again + replay.again.length,
        left: sums.left,
      };
    case 'refused':
    case 'unknown':
      return { ...sums, left: sums.left + 1 };
    case 'resolved':
      return sums;
  }
}
