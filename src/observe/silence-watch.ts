import type { Logger } from 'pino';
import type { Db } from '../store/database.ts';
import { isCatchingUp } from '../store/read-arrivals.ts';
import { assessSilences, learnRhythms } from './assess-silences.ts';
import type { Rhythms } from './assess-silences.ts';
import { describeSeconds, describeSilence } from './describe-silence.ts';
import { HOUR_MS } from './rates-of-week.ts';
import type { Gap } from './rates-of-week.ts';
import { MIN_SILENCE_MS } from './silence.ts';
import type { TypeSilence } from './silence.ts';

/** Looks for silences that are unusual, and tells the log. */
export interface SilenceWatch {
  /** Looks now; to be called every minute. Rejects when the database does not answer. */
  look(now: Date): Promise<void>;
  /** What the last look found; empty before the first. */
  latest(): readonly TypeSilence[];
}

/**
 * Makes a watch. It warns once when a source and message type become unusually quiet, and says when they are back;
 * while nothing at all arrives, once for all. Time in which nothing can have arrived is not counted as silence: what
 * lies before the first look, when we may have been down, and a time in which nothing at all arrived, once that is
 * over.
 */
export function createSilenceWatch({
  db,
  logger,
}: {
  readonly db: Db;
  readonly logger: Logger;
}): SilenceWatch {
  let silences: readonly TypeSilence[] = [];
  let rhythms: Rhythms = new Map();
  let learntAt = -Infinity;
  let away: Gap | undefined;
  let warned = new Map<string, TypeSilence>();
  /** The last arrival of all, since a warning that nothing arrives. */
  let quietSince: number | undefined;

  async function look(now: Date): Promise<void> {
    if (await isCatchingUp(db)) return;
    if (now.getTime() - learntAt >= HOUR_MS) {
      rhythms = await learnRhythms(db, now);
      learntAt = now.getTime();
    }
    silences = await assessSilences(db, now, { rhythms, away });
    const last = lastOf(silences);
    const isFirst = away === undefined;
    const isBack = quietSince !== undefined && last !== undefined && last > quietSince;
    if (isFirst || isBack) {
      if (isBack) logger.info('deliveries arrive again');
      away = { from: quietSince ?? last ?? now.getTime(), to: now.getTime() };
      quietSince = undefined;
      silences = await assessSilences(db, now, { rhythms, away });
    }
    tell(now.getTime(), last);
  }

  function tell(now: number, last: number | undefined): void {
    const unusual = silences.filter(({ state }) => state === 'unusual');
    if (unusual.length > 1 && last !== undefined && now - last >= MIN_SILENCE_MS) {
      if (quietSince === undefined) warnOfAll(unusual, now - last);
      quietSince ??= last;
      return;
    }
    if (quietSince !== undefined) return;
    const before = warned;
    warned = new Map(unusual.map((silence) => [`${silence.messageType} ${silence.source}`, silence]));
    for (const [name, silence] of warned) if (!before.has(name)) warnOf(silence);
    for (const [name, silence] of before) if (!warned.has(name)) tellEnd(silence);
  }

  function warnOf(silence: TypeSilence): void {
    const { source, messageType, silentSeconds, expected, longestUsualSeconds } = silence;
    logger.warn(
      { source, messageType, silentSeconds, expected: Math.round(expected), longestUsualSeconds },
      `${messageType} of ${source} is unusually quiet: ${describeSilence(silence)}`,
    );
  }

  function tellEnd({ source, messageType, lastReceivedAt }: TypeSilence): void {
    const present = silences.find((one) => one.source === source && one.messageType === messageType);
    const isBack = present?.lastReceivedAt?.getTime() !== lastReceivedAt?.getTime();
    const what = isBack ? 'arrives again' : 'is no longer expected';
    logger.info({ source, messageType }, `${messageType} of ${source} ${what}`);
  }

  function warnOfAll(unusual: readonly TypeSilence[], silentMs: number): void {
    const expected = unusual.reduce((sum, silence) => sum + silence.expected, 0);
    logger.warn(
      { silentSeconds: Math.round(silentMs / 1000), expected: Math.round(expected), types: unusual.length },
      `nothing arrives from any source for ${describeSeconds(silentMs / 1000)}, which is unusual`,
    );
  }

  return { look, latest: () => silences };
}

function lastOf(silences: readonly TypeSilence[]): number | undefined {
  const times = silences.flatMap(({ lastReceivedAt }) => lastReceivedAt?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}
