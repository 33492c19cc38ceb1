import type { Logger } from 'pino';
import { describeError } from '../errors.ts';

/** How a part of the service is, in a word that anybody may read. */
export type State =
  'ok' | 'spooling' | 'away' | 'nearly full' | 'full' | 'behind' | 'refused' | 'unusually quiet' | 'unknown';

/** How a part is, and why: for those who operate the service. */
export interface Finding {
  readonly state: State;
  readonly why?: string | undefined;
  /** What it consists of, where its state is that of the worst of several. */
  readonly parts?: readonly ReadinessLine[] | undefined;
}

/** One line of what an operator is told. */
interface ReadinessLine {
  readonly name: string;
  readonly state: State;
  /** In words; empty where there is nothing to say. */
  readonly why: string;
}

/** Something that a process depends on, or that a person should look at. */
export interface Check {
  /** Resolves with how it works; throws when it does not, which is the state `away`. */
  readonly ask: () => Promise<State | Finding>;
  /** Whether the process cannot do its own work without. */
  readonly isNeeded: boolean;
}

export type Checks = Readonly<Record<string, Check>>;

/** `degraded`: the process does its work, and something is to be mended. */
type Status = 'ok' | 'degraded' | 'unavailable';

/** How the process is; all who ask at the same time get the same answer. */
export interface Readiness {
  /** What `/readyz` tells: state words alone, for anybody may ask. */
  ask(): Promise<{ readonly status: Status; readonly checks: Readonly<Record<string, State>> }>;
  /** The same with reasons, which may name hosts and destinations: for operators only. */
  describe(): Promise<{ readonly status: Status; readonly checks: readonly ReadinessLine[] }>;
}

type Found = readonly (Finding & { readonly name: string })[];

/**
 * Asks all parts. Those who ask meanwhile get the same answer, so that a flood of questions is no flood of checks; why
 * a part is away stands in the log, once.
 */
export function createReadiness(checks: Checks, logger: Logger): Readiness {
  const away = new Set<string>();
  let asking: Promise<Found> | undefined;

  async function find(name: string, { ask }: Check): Promise<Finding> {
    try {
      const answer = await ask();
      if (away.delete(name)) logger.info(`${name} is back`);
      return typeof answer === 'string' ? { state: answer } : answer;
    } catch (error) {
      const why = describeError(error);
      if (!away.has(name)) logger.warn({ err: error }, `${name} is away: ${why}`);
      away.add(name);
      return { state: 'away', why };
    }
  }

  const findAll = (): Promise<Found> =>
    Promise.all(
      Object.entries(checks).map(async ([name, check]) => ({ name, ...(await find(name, check)) })),
    );

  function findOnce(): Promise<Found> {
    asking ??= findAll().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  function statusOf(found: Found): Status {
    if (found.some(({ name, state }) => state === 'away' && checks[name]?.isNeeded === true)) {
      return 'unavailable';
    }
    return found.every(({ state }) => state === 'ok' || state === 'unknown') ? 'ok' : 'degraded';
  }

  return {
    async ask() {
      const found = await findOnce();
      const states = found.map(({ name, state }) => [name, state] as const);
      return { status: statusOf(found), checks: Object.fromEntries(states) };
    },
    async describe() {
      const found = await findOnce();
      const lines = found.flatMap(({ name, state, why = '', parts = [] }) => [
        { name, state, why },
        ...parts.map((part) => ({ ...part, name: `${name}: ${part.name}` })),
      ]);
      return { status: statusOf(found), checks: lines };
    },
  };
}
