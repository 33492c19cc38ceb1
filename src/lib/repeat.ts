import type { Logger } from 'pino';
import { systemClock, type Clock } from './clock.ts';
import { closeLogged } from './close-logged.ts';
import { describeError } from './errors.ts';
import { onceIn } from './once-in.ts';

/** Work that is repeated until it is stopped. */
export type Repetition = ReturnType<typeof repeat>;

interface RepeatedWork {
  /** One round. `more`: the next one follows at once, not after the pause. `over`: none follows. */
  readonly work: () => Promise<'more' | 'done' | 'over' | void>;
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

  async function round(): Promise<'more' | 'done' | 'over'> {
    try {
      return (await work()) ?? 'done';
    } catch (error) {
      if (!signal.aborted) onError(error);
      return 'done';
    }
  }

  async function run(): Promise<void> {
    if (delayMs > 0) await pause(delayMs);
    while (!signal.aborted) {
      const result = await round();
      if (result === 'over') return;
      if (result === 'done') await pause(typeof pauseMs === 'number' ? pauseMs : pauseMs());
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

/** Rounds may follow one another within milliseconds. The same failure is logged again after so long. */
const LOG_AGAIN_AFTER_MS = 60_000;

/** Repeats work from now on, until everything is closed. A failure is logged, and the next round tries again. */
export function repeatInBackground(
  { part, failure, level = 'warn', leave, ...repeated }: BackgroundWork,
  logger: Logger,
  started: AsyncDisposableStack,
): void {
  const isNews = onceIn(LOG_AGAIN_AFTER_MS);
  const onError = (error: unknown) => {
    const reason = describeError(error);
    logger[isNews(reason) ? level : 'debug']({ err: error }, `${failure}: ${reason}`);
  };
  const repetition = repeat({ ...repeated, onError });
  const stop = async () => {
    await repetition.stop();
    await leave?.();
  };
  started.defer(closeLogged(logger, part, stop));
}
