import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { describeError } from '../lib/errors.ts';
import { failuresIn } from '../lib/failure-log.ts';
import { isMissingTable } from '../store/server/statement.ts';

/** The state of a part of the service, as a word that anyone may read. */
export type State =
  | 'ok'
  | 'spooling'
  | 'away'
  | 'read-only'
  | 'nearly full'
  | 'full'
  | 'behind'
  | 'refused'
  | 'unusually quiet'
  | 'waiting'
  | 'starting'
  | 'stuck'
  | 'unknown';

export interface Finding {
  readonly state: State;
  readonly why?: string | undefined;
  /** The parts of this part, if its state is the worst of theirs. */
  readonly parts?: readonly ReadinessLine[] | undefined;
}

interface ReadinessLine {
  readonly name: string;
  readonly state: State;
  /** The reason in words; empty if there is none. */
  readonly why: string;
}

/** A dependency of a process, or something that an operator should look into. */
export interface Check {
  /** Resolves with the state. If it throws, the state is `away`. */
  readonly ask: () => Promise<Finding>;
  /** Whether the process can't do its own work without it. */
  readonly isNeeded: boolean;
}

export type Checks = Readonly<Record<string, Check>>;

/** `degraded`: the process does its work, but something needs attention. */
type Status = 'ok' | 'degraded' | 'unavailable';

/** Whether a state needs attention. `unknown` has a cause that another check reports. */
export const isProblem = ({ state }: { readonly state: string }) => state !== 'ok' && state !== 'unknown';

export type Readiness = ReturnType<typeof createReadiness>;

/** The states in which a part does not do its work. */
const NOT_WORKING: ReadonlySet<State> = new Set(['away', 'starting', 'stuck']);

/** A proxy gives up its health check after a few seconds: a part that hangs must not take the others with it. */
const TIMEOUT_MS = 2_500;

type Found = readonly (Finding & { readonly name: string })[];

/**
 * Runs all checks. Calls in the meantime share the answer, so a flood of requests is not a flood of checks. When a part
 * becomes unavailable, the reason is logged once.
 */
export function createReadiness(checks: Checks, logger: Logger) {
  const failures = failuresIn(logger);
  let asking: Promise<Found> | undefined;

  async function find(name: string, { ask }: Check): Promise<Finding> {
    try {
      const answer = await pTimeout(ask(), {
        milliseconds: TIMEOUT_MS,
        message: `no answer within ${TIMEOUT_MS / 1000} s`,
      });
      failures.clear(`check ${name}`);
      return answer;
    } catch (error) {
      // Before the first start has made the tables, nothing has failed yet.
      if (isMissingTable(error)) return { state: 'starting', why: 'its tables do not exist yet' };
      failures.report(`check ${name}`, error, `${name} is unavailable`);
      return { state: 'away', why: describeError(error) };
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
    if (found.some(({ name, state }) => NOT_WORKING.has(state) && checks[name]?.isNeeded === true)) {
      return 'unavailable';
    }
    return found.some(isProblem) ? 'degraded' : 'ok';
  }

  return {
    /** The answer of `/readyz`: state words only, because anyone may send the request. */
    async ask(): Promise<{ readonly status: Status; readonly checks: Readonly<Record<string, State>> }> {
      const found = await findOnce();
      const states = found.map(({ name, state }) => [name, state] as const);
      return { status: statusOf(found), checks: Object.fromEntries(states) };
    },
    /** The same with reasons, which may name hosts and destinations: for operators only. */
    async describe(): Promise<{ readonly status: Status; readonly checks: readonly ReadinessLine[] }> {
      const found = await findOnce();
      const lines = found.flatMap(({ name, state, why = '', parts = [] }) => [
        { name, state, why },
        ...parts.map((part) => ({ ...part, name: `${name}: ${part.name}` })),
      ]);
      return { status: statusOf(found), checks: lines };
    },
  };
}
