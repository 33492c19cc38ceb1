import type { Logger } from 'pino';
import type { Db } from '../../store/server/database.ts';
import { isCatchingUp } from '../../store/counts/read-arrivals.ts';
import { formatDuration } from '../../lib/text/units.ts';
import { assessSilences, learnPatterns, type ArrivalPatterns } from './assess-silences.ts';
import { describeSilence, MIN_SILENCE_MS, type TypeSilence } from './silence.ts';
import type { QuietPeriod } from './weekly-rates.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { repeatInBackground } from '../../lib/repeat.ts';
import { followGaps, type SuspectedGap } from '../../store/reconcile/gaps.ts';

export type SilenceWatch = ReturnType<typeof createSilenceWatch>;

/**
 * Creates a watch. It logs one warning when a source and message type become unusually quiet, and one line when they
 * are back. While nothing arrives at all, it logs one warning for all of them. Two times do not count as silence: the
 * time before the first look, when this service may have been down, and a time without any arrivals once it is over.
 */
export function createSilenceWatch(db: Db, logger: Logger) {
  let silences: readonly TypeSilence[] = [];
  let patterns: ArrivalPatterns = new Map();
  let learnedAt = -Infinity;
  let away: QuietPeriod | undefined;
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
      if (isBack) logger.info('deliveries are arriving again');
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

const INTERVAL_MS = 60_000;

/** Looks for unusual silences now and every minute, and records them as gaps. Returns the watch. */
export function startSilenceWatch(db: Db, logger: Logger, started: AsyncDisposableStack): SilenceWatch {
  const watch = createSilenceWatch(db, logger);
  const work = async () => {
    const now = new Date();
    await watch.look(now);
    await followGaps(db, { reasons: ['silence'] }, watch.latest().flatMap(suspectedGapsOf), now);
  };
  const failure = 'silences were not checked';
  repeatInBackground({ part: 'silence watch', failure, pauseMs: INTERVAL_MS, work }, logger, started);
  return watch;
}

function suspectedGapsOf({
  source,
  messageType,
  state,
  lastReceivedAt,
  expected,
}: TypeSilence): SuspectedGap[] {
  if (state !== 'unusual') return [];
  const detail = { usual_deliveries: Math.round(expected) };
  return [{ source, messageType, reason: 'silence', since: lastReceivedAt, detail }];
}
