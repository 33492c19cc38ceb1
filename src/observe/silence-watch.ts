import type { Logger } from 'pino';
import type { Db } from '../store/database.ts';
import { isCatchingUp } from '../store/read-arrivals.ts';
import { formatDuration } from '../units.ts';
import { assessSilences, learnPatterns, type ArrivalPatterns } from './assess-silences.ts';
import { describeSilence, MIN_SILENCE_MS, type TypeSilence } from './silence.ts';
import { HOUR_MS, type Gap } from './weekly-rates.ts';

/** Looks for unusual silences and logs them. */
export interface SilenceWatch {
  /** Looks once. Call it every minute. Rejects if the database does not answer. */
  look(now: Date): Promise<void>;
  /** The silences found by the last look; empty before the first. */
  latest(): readonly TypeSilence[];
}

/**
 * Creates a watch. It logs one warning when a source and message type become unusually quiet, and one line when they
 * are back. While nothing arrives at all, it logs one warning for all of them. Two times do not count as silence: the
 * time before the first look, when this service may have been down, and a time without any arrivals once it is over.
 */
export function createSilenceWatch({
  db,
  logger,
}: {
  readonly db: Db;
  readonly logger: Logger;
}): SilenceWatch {
  let silences: readonly TypeSilence[] = [];
  let patterns: ArrivalPatterns = new Map();
  let learnedAt = -Infinity;
  let away: Gap | undefined;
  let warned = new Map<string, TypeSilence>();
  /** The last of all arrivals, set by the warning that nothing arrives. */
  let quietSince: number | undefined;

  async function look(now: Date): Promise<void> {
    if (await isCatchingUp(db)) return;
    if (now.getTime() - learnedAt >= HOUR_MS) {
      patterns = await learnPatterns(db, now);
      learnedAt = now.getTime();
    }
    silences = await assessSilences(db, now, { patterns, away });
    const last = lastOf(silences);
    const isFirst = away === undefined;
    const isBack = quietSince !== undefined && last !== undefined && last > quietSince;
    if (isFirst || isBack) {
      if (isBack) logger.info('deliveries arrive again');
      away = { from: quietSince ?? last ?? now.getTime(), to: now.getTime() };
      quietSince = undefined;
      silences = await assessSilences(db, now, { patterns, away });
    }
    logChanges(now.getTime(), last);
  }

  function logChanges(now: number, last: number | undefined): void {
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
    for (const [name, silence] of before) if (!warned.has(name)) logEnd(silence);
  }

  function warnOf(silence: TypeSilence): void {
    const { source, messageType, silentSeconds, expected, longestUsualSeconds } = silence;
    logger.warn(
      { source, messageType, silentSeconds, expected: Math.round(expected), longestUsualSeconds },
      `${messageType} from ${source} is unusually quiet: ${describeSilence(silence)}`,
    );
  }

  function logEnd({ source, messageType, lastReceivedAt }: TypeSilence): void {
    const current = silences.find((one) => one.source === source && one.messageType === messageType);
    const isBack = current?.lastReceivedAt?.getTime() !== lastReceivedAt?.getTime();
    const change = isBack ? 'arrives again' : 'is no longer expected';
    logger.info({ source, messageType }, `${messageType} from ${source} ${change}`);
  }

  function warnOfAll(unusual: readonly TypeSilence[], silentMs: number): void {
    const expected = unusual.reduce((sum, silence) => sum + silence.expected, 0);
    logger.warn(
      { silentSeconds: Math.round(silentMs / 1000), expected: Math.round(expected), types: unusual.length },
      `no deliveries from any source for ${formatDuration(silentMs / 1000)}, which is unusual`,
    );
  }

  return { look, latest: () => silences };
}

function lastOf(silences: readonly TypeSilence[]): number | undefined {
  const times = silences.flatMap(({ lastReceivedAt }) => lastReceivedAt?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}
