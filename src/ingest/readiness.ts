import type { Logger } from 'pino';
import { describeError } from '../errors.ts';

/** The parts that a process depends on: each resolves when it works and throws when it does not. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

/** What `/readyz` tells: state words alone, for anybody may ask. */
interface Readiness {
  readonly status: 'ok' | 'unavailable';
  readonly checks: Readonly<Record<string, 'ok' | 'away'>>;
}

/**
 * Asks all parts. Those who ask meanwhile get the same answer, so that a flood of questions is no flood of checks; why
 * a part is away stands in the log, once.
 */
export function createReadiness(checks: Checks, logger: Logger): () => Promise<Readiness> {
  const away = new Set<string>();
  let asking: Promise<Readiness> | undefined;

  async function stateOf(name: string, check: () => Promise<void>): Promise<'ok' | 'away'> {
    try {
      await check();
      if (away.delete(name)) logger.info(`${name} is back`);
      return 'ok';
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
    return { status: away.size === 0 ? 'ok' : 'unavailable', checks: Object.fromEntries(states) };
  }

  return () => {
    asking ??= askAll().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}
