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
  /** How often a cursor went back. */
  goings = 0;
  /** The share of requests that fail, of which half have arrived. */
  outage = 0;
  /** Every request takes this many times as long. */
  slowness = 1;
  /** Events that were accepted or refused since the cursor was last before them. */
  readonly settled = new Map<string, Map<string, number>>(DESTINATIONS.map((name) => [name, new Map()]));
  readonly refused = new Map<string, Set<string>>(DESTINATIONS.map((name) => [name, new Set()]));
  readonly #next = new Map<string, number>();
  readonly #confirmed = new Map<string, number>();
  #rewound: { readonly of: string; readonly at: number; readonly ids: readonly [string, number][] }[] = [];
  readonly #database: SimulatedDatabase;
  readonly #random: Random;

  constructor(database: SimulatedDatabase, seed: number) {
    this.#database = database;
    this.#random = createRandom(seed, 'receivers');
    database.log.onRewind = (name, to, lostSince = Infinity) => this.#goBack(name, to, lostSince);
  }

  /** What comes after the cursor has to arrive again. A rewind that a failover has lost never was. */
  #goBack(name: string, to: number, lostSince: number): void {
    this.goings += 1;
    const settled = this.settled.get(name) ?? new Map<string, number>();
    for (const { at, of, ids } of this.#rewound) {
      if (of === name && at > lostSince) for (const [id, position] of ids) settled.set(id, position);
    }
    this.#rewound = this.#rewound.filter(({ of, at }) => of !== name || at <= lostSince);
    const ids = [...settled].filter(([, position]) => position >= to);
    for (const [id] of ids) settled.delete(id);
    if (lostSince === Infinity) this.#rewound.push({ of: name, at: this.#database.now, ids });
    this.#next.set(name, lostSince === Infinity ? Math.min(to, this.#next.get(name) ?? 0) : to);
    for (const key of this.#confirmed.keys()) if (key.endsWith(` ${name}`)) this.#confirmed.delete(key);
  }

  /** A process has learned where the cursor of a destination is: no event before it arrives from there again. */
  confirm(owner: string, name: string, position: number): void {
    this.#confirmed.set(`${owner} ${name}`, position);
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
    const confirmed = this.#confirmed.get(`${owner} ${name}`) ?? 0;
    // It may have been on its way since before the cursor went back, and a renewal of the lease has told where it is now.
    const isStale = this.#database.log.isStale(owner, name);
    if (first < confirmed && !isStale)
      this.failures.push(`${owner} sends ${first} to ${name} again: it knows that ${confirmed} is next`);
    if (first > next) {
      if (isStale) return;
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
