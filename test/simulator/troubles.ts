import { createRandom, type Random } from '../../emulator/random.ts';

/** What a server does to those who call it, while it does. */
export type Trouble =
  | 'queue refuses'
  | 'queue is unheard'
  | 'queue answers are lost'
  | 'queue hears twice'
  | 'queue is slow'
  | 'database refuses'
  | 'database is unheard'
  | 'database connections break'
  | 'database answers are lost'
  | 'database is slow'
  | 'database conflicts'
  | 'database disk is full'
  | 'database is read-only'
  | 'database has no connections left';

/** How a call ends that a server does not simply answer. */
type CallEnd = 'refused' | 'unheard' | 'unanswered' | 'twice' | undefined;

/** An error of Postgres by its code. */
interface Refusal {
  readonly code: string;
  readonly kind: string;
}

const REFUSALS: readonly (readonly [Trouble, string])[] = [
  ['database conflicts', '40001'],
  ['database conflicts', '40P01'],
  ['database conflicts', '57014'],
  ['database disk is full', '53100'],
  ['database is read-only', '25006'],
];

/** The troubles of the servers at this time, each with its share of calls that it hits. */
export class Troubles {
  readonly #active = new Map<Trouble, number>();
  readonly #randoms = new Map<Trouble, Random>();
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  begin(trouble: Trouble, share: number): void {
    this.#active.set(trouble, share);
  }

  end(trouble: Trouble): void {
    this.#active.delete(trouble);
  }

  /** How many times longer a call takes. `chance` is a number from 0 to 1. */
  slowness(server: 'queue' | 'database', chance: number): number {
    const most = this.#active.get(`${server} is slow`);
    return 0.5 + chance + (most === undefined ? 0 : chance ** 4 * most);
  }

  ofQueue(): CallEnd {
    if (this.#hits('queue refuses')) return 'refused';
    if (this.#hits('queue is unheard')) return 'unheard';
    if (this.#hits('queue answers are lost')) return 'unanswered';
    return this.#hits('queue hears twice') ? 'twice' : undefined;
  }

  ofConnection(): 'refused' | 'unheard' | Refusal | undefined {
    if (this.#hits('database refuses')) return 'refused';
    if (this.#hits('database is unheard')) return 'unheard';
    if (!this.#hits('database has no connections left')) return undefined;
    return { code: '53300', kind: 'too many connections' };
  }

  ofStatement(
    text: string,
  ): 'unheard' | 'broken before' | 'broken after' | 'unanswered' | Refusal | undefined {
    if (this.#hits('database is unheard')) return 'unheard';
    if (this.#hits('database connections break')) return 'broken before';
    const isCommit = text === 'commit' || text.includes('; copy ');
    if (isCommit && this.#hits('database answers are lost')) {
      return this.#randomOf('database answers are lost').chance(0.8) ? 'broken after' : 'unanswered';
    }
    for (const [trouble, code] of REFUSALS) if (this.#hits(trouble)) return { code, kind: trouble };
    return undefined;
  }

  #hits(trouble: Trouble): boolean {
    const share = this.#active.get(trouble);
    return share !== undefined && this.#randomOf(trouble).chance(share);
  }

  /** Each trouble has its own chance: without one, the others hit as before. */
  #randomOf(trouble: Trouble): Random {
    const random = this.#randoms.get(trouble) ?? createRandom(this.#seed, trouble);
    this.#randoms.set(trouble, random);
    return random;
  }
}
