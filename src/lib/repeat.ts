import type { Logger } from 'pino';
import { activity } from './activity.ts';
import { systemClock, type Clock } from './clock.ts';
import { closeLogged } from './close-logged.ts';
import { failuresIn } from './failure-log.ts';

type Outcome = 'more' | 'done' | 'idle' | 'over';

export type Repetition = ReturnType<typeof repeat>;

interface RepeatedWork {
  /** One round. `more`: the next one follows at once, not after the pause. `idle`: once something happens. `over`: none does. */
  readonly work: () => Promise<Outcome | void>;
  /** Milliseconds from the end of a round to the next one. */
  readonly pauseMs: number | (() => number);
  /** The first round begins after so long. Default: now. */
  readonly delayMs?: number;
  /** Receives what a round throws; the next one tries again. */
  readonly onError: (error: unknown) => void;
  /** Is aborted before the last round is waited for, which may fail then: that is no error. */
  readonly stopping?: AbortController;
  readonly clock?: Clock;
}

/** What failed is tried again after the first, then after twice as long each time, up to the last or its usual pause, if that is longer. */
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

/** Repeats work until it is stopped or over. */
export function repeat({
  work,
  pauseMs,
  delayMs = 0,
  onError,
  stopping = new AbortController(),
  clock = systemClock,
}: RepeatedWork) {
  const { signal } = stopping;
  const pause = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);

  async function round(): Promise<Outcome | 'failed'> {
    try {
      return (await work()) ?? 'done';
    } catch (error) {
      if (!signal.aborted) onError(error);
      return 'failed';
    }
  }

  async function run(): Promise<void> {
    if (delayMs > 0) await pause(delayMs);
    let failed = 0;
    while (!signal.aborted) {
      const result = await round();
      if (result === 'over') return;
      failed = result === 'failed' ? failed + 1 : 0;
      if (result === 'more') continue;
      const usual = typeof pauseMs === 'number' ? pauseMs : pauseMs();
      const retry = FIRST_RETRY_MS * 2 ** (failed - 1);
      if (result === 'idle') await activity.rest(usual, [signal], clock);
      else await pause(failed === 0 ? usual : Math.min(retry, Math.max(usual, LAST_RETRY_MS)));
    }
  }

  const running = run();
  return {
    /** Aborts `stopping`, and waits for the current round; no other begins. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

interface BackgroundWork extends Omit<RepeatedWork, 'onError'> {
  readonly part: string;
  /** The meaning of a failure, for the log; the reason follows. */
  readonly failure: string;
  readonly level?: 'warn' | 'error';
  readonly leave?: () => Promise<void>;
}

/** Repeats work from now on, until everything is closed. A failure is logged, and the next round tries again. */
export function repeatInBackground(
  { part, failure, level = 'warn', leave, ...repeated }: BackgroundWork,
  logger: Logger,
  started: AsyncDisposableStack,
): void {
  const failures = failuresIn(logger);
  const onError = (error: unknown) => failures.report(part, error, failure, { level });
  const work = async () => {
    const result = await repeated.work();
    failures.clear(part);
    return result;
  };
  const repetition = repeat({ ...repeated, work, onError });
  const stop = async () => {
    await repetition.stop();
    await leave?.();
  };
  started.defer(closeLogged(logger, part, stop));
}
