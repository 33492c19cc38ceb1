import { createRandom, type Random } from '../../emulator/random.ts';
import type { SimulatedDatabase } from './database.ts';

/** What arrives at a destination. */
interface Received {
  readonly position: number;
  readonly eventId: string;
}

/** One that refuses some events for their content, and one that takes all. */
export const DESTINATIONS = ['picky', 'plain'] as const;

/** The share of events that the first one refuses. */
const REFUSED = 0.1;

/** How a destination answers. */
type Reception = 'refused as a whole' | 'out of order' | readonly number[];

/** The destinations: what each has, and in which order it came. */
export class Receivers {
  readonly failures: string[] = [];
  /** The share of requests that fail, of which half have arrived. */
  outage = 0;
  /** Events that were accepted or refused since the cursor was last before them. */
  readonly settled = new Map<string, Map<string, number>>(DESTINATIONS.map((name) => [name, new Map()]));
  readonly refused = new Map<string, Set<string>>(DESTINATIONS.map((name) => [name, new Set()]));
  readonly #next = new Map<string, number>();
  readonly #database: SimulatedDatabase;
  readonly #random: Random;

  constructor(database: SimulatedDatabase, seed: number) {
    this.#database = database;
    this.#random = createRandom(seed, 'receivers');
    database.log.onRewind = (name, to) => {
      this.#next.set(name, Math.min(to, this.#next.get(name) ?? 0));
      const settled = this.settled.get(name);
      for (const [id, position] of settled ?? []) if (position >= to) settled?.delete(id);
    };
  }

  /** Takes a batch that a process sends. Returns the places of those that it will never accept. */
  receive(name: string, owner: string, batch: readonly Received[]): Reception {
    const isFailing = this.outage > 0 && this.#random.chance(this.outage);
    if (isFailing && this.#random.chance(0.5)) return 'out of order';
    const refused = batch.flatMap(({ eventId }, at) =>
      name === 'picky' && Number.parseInt(eventId.slice(-4), 16) % 1_000 < 1_000 * REFUSED ? [at] : [],
    );
    if (batch.length > 1 && refused.length > 0 && this.#random.chance(0.3)) return 'refused as a whole';
    this.#settle(name, owner, batch);
    for (const at of refused) this.refused.get(name)?.add(batch[at]?.eventId ?? '');
    return isFailing ? 'out of order' : refused;
  }

  #settle(name: string, owner: string, batch: readonly Received[]): void {
    const first = batch[0]?.position ?? 0;
    const next = this.#next.get(name) ?? 0;
    if (first > next) {
      if (this.#database.log.isStale(owner, name)) return;
      this.failures.push(`${owner} sends ${first} to ${name}, which has nothing from ${next} on`);
    }
    for (const [at, { position, eventId }] of batch.entries()) {
      if (at > 0 && position <= (batch[at - 1]?.position ?? 0))
        this.failures.push(`${name} gets ${position} out of order`);
      this.settled.get(name)?.set(eventId, position);
      this.#next.set(name, Math.max(this.#next.get(name) ?? 0, position + 1));
    }
  }
}
