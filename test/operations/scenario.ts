import type { Fleet } from './fleet.ts';
import type { Ground } from './ground.ts';
import type { ReadQueue } from './waiting.ts';

/** What a scenario is about to do, with everything started. */
export interface Stage {
  readonly fleet: Fleet;
  /** Where the oracle looks: directly, not by a pooler. */
  readonly databaseUrl: string;
  readonly readQueue: ReadQueue;
  /** The operation, under load. May resolve with a remark. */
  readonly act: () => Promise<string | undefined>;
  /** Anything else that must hold once all is stored: each text is something wrong. */
  readonly check?: (measured: { readonly lost: number }) => Promise<readonly string[]>;
  /** The source of the load. */
  readonly source?: string;
  /** What the load reads the time from; the system's clock unless told. */
  readonly clock?: () => number;
}

/** A row of another kind: it needs no load, and judges by itself. */
export interface OwnScenario extends Pick<Scenario, 'name' | 'isLong' | 'isAlone'> {
  /** Each of the wrongs is something that must not be. */
  readonly run: (ground: Ground) => Promise<{ readonly wrongs: readonly string[]; readonly remark: string }>;
}

/** One row of the table. What is never allowed: doubled, wrong or stuck deliveries. */
export interface Scenario {
  readonly name: string;
  /** Whether no delivery may be refused, or stay without an answer. */
  readonly refusesNone: boolean;
  /** Whether acknowledged deliveries are lost: then some must be, or the scenario shows nothing. */
  readonly loses?: boolean;
  /** Whether only the long form runs it. */
  readonly isLong?: boolean;
  /** Whether no other scenario may run at the same time: it measures times. */
  readonly isAlone?: boolean;
  readonly open: (ground: Ground) => Promise<Stage>;
}
