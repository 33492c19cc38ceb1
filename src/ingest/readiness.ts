import type { Logger } from 'pino';
import { describeError } from '../errors.ts';

/** Something that a process depends on. */
export interface Check {
  /** Resolves with how it works, `spooling` when it does so by way of the disk; throws when it does not work. */
  readonly ask: () => Promise<'ok' | 'spooling'>;
  /** Whether the process cannot do its own work without. */
  readonly isNeeded: boolean;
}

export type Checks = Readonly<Record<string, Check>>;

/** What `/readyz` tells: state words alone, for anybody may ask. */
interface Readiness {
  /** `degraded`: it does its work, and something is to be mended. */
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: Readonly<Record<string, State>>;
}

type State = 'ok' | 'spooling' | 'away';

/**
 * Asks all parts. Those who ask meanwhile get the same answer, so that a flood of questions is no flood of checks; why
 * a part is away stands in the log, once.
 */
export function createReadiness(checks: Checks, logger: Logger): () => Promise<Readiness> {
  const away = new Set<string>();
  let asking: Promise<Readiness> | undefined;

  async function stateOf(name: string, { ask }: Check): Promise<State> {
    try {
      const state = await ask();
      if (away.delete(name)) logger.info(`${name} is back`);
      return state;
    } catch (error) {
      if (!away.has(name)) logger.warn({ err: error }, `${name} is away: ${describeError(error)}`);
      away.add(name);
      return 'away';
    }
  }

  async function askAll(): Promise<Readiness> {
    const states = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await stateOf(name, check)] as const),
    );
    const lacks = states.some(([name, state]) => state === 'away' && checks[name]?.isNeeded === true);
    const isWhole = states.every(([, state]) => state === 'ok');
    const status = lacks ? 'unavailable' : isWhole ? 'ok' : 'degraded';
    return { status, checks: Object.fromEntries(states) };
  }

  return () => {
    asking ??= askAll().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}
