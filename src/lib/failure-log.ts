import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { describeError, isConnectionFailure } from './errors.ts';
import { formatDuration } from './text/units.ts';

/** A reason that lasts is logged again after so long. */
const AGAIN_AFTER_MS = 60_000;

/** What answers have a new one of each time, although the reason is the same. */
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;

/** Reasons may contain addresses and ports, so there may be any number of them. */
const MAX_REASONS = 100;

interface Reason {
  readonly since: number;
  readonly text: string;
  times: number;
  loggedAt: number;
  /** The part that failed because of it last, whose next success is its end. */
  part: string | undefined;
  isOver: boolean;
}

/** SQLSTATE of an outage: the message names the statement or the file, but all fail for the same reason. */
const OUTAGE = /^(?:08|25006|53|57P)/;

/** A server that ends its connections shows it in each of these ways, depending on what a connection is doing. */
const BROKEN = /^57P|EPIPE|ECONNRESET|Connection terminated/;

/** The reason that a failure shares with those of other parts; undefined if it concerns its part alone. */
function outageOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'severity' in error && 'code' in error ? String(error.code) : undefined;
  const reason = code ?? describeError(error);
  if (code === undefined ? !isConnectionFailure(error) : !OUTAGE.test(code)) return outageOf(error.cause);
  return BROKEN.test(reason) ? 'broken connections' : reason;
}

/**
 * Logs failures that repeat: each reason at once, every minute with its count while it lasts, and its end. All others are
 * logged at the level `debug`.
 */
export function createFailureLog(logger: Logger, now: () => number = () => performance.now()) {
  const reasons = new LRUCache<string, Reason>({ max: MAX_REASONS });
  const count = ({ since, times }: Reason) => `${times} times in ${formatDuration((now() - since) / 1000)}`;
  return {
    /**
     * Reports that a part failed, whose next success `clear` reports. Undefined: nobody sees that. `what` is the meaning of
     * the failure; the reason of the error follows. With `once`, a reason that lasts is not logged again.
     */
    report(
      part: string | undefined,
      error: unknown,
      what: string,
      {
        fields = {},
        level = 'warn',
        once = false,
      }: { fields?: object; level?: 'warn' | 'error'; once?: boolean } = {},
    ): void {
      const text = describeError(error);
      const key = outageOf(error) ?? `${part ?? what}: ${text.replaceAll(UUID, '')}`;
      const at = now();
      const known = reasons.get(key);
      const mayRepeat = !once || known?.isOver === true;
      const isNews = known === undefined || (mayRepeat && at - known.loggedAt >= AGAIN_AFTER_MS);
      // One that was over comes and goes within a minute without a line.
      const lasting = isNews && known?.isOver === true ? undefined : known;
      const reason = lasting ?? { since: at, text, times: 0, loggedAt: at, part, isOver: false };
      reasons.set(key, reason);
      reason.times += 1;
      reason.part = part ?? reason.part;
      if (isNews) reason.loggedAt = at;
      const message = `${what}: ${text}`;
      if (lasting === undefined) logger[level]({ ...fields, err: error }, message);
      else logger[isNews ? level : 'debug'](fields, `${message} (${count(reason)})`);
    },
    /** Reports that a part works. */
    clear(part: string): void {
      for (const reason of reasons.values()) {
        if (reason.part !== part || reason.isOver) continue;
        reason.isOver = true;
        logger.info(`no longer fails: ${reason.text} (${count(reason)})`);
      }
    },
  };
}

const logs = new WeakMap<Logger, ReturnType<typeof createFailureLog>>();

/** The failures in a log. All parts of a process share them: an outage is one reason, whatever fails because of it. */
export function failuresIn(logger: Logger): ReturnType<typeof createFailureLog> {
  const failures = logs.get(logger) ?? createFailureLog(logger);
  logs.set(logger, failures);
  return failures;
}
