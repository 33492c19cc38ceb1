import type { Config } from '../config/config.ts';
import type { OverviewOptions } from '../console/overview/read-overview.ts';
import { assessSilences, learnPatterns } from '../observe/silence/assess-silences.ts';
import { describeSilence, type TypeSilence } from '../observe/silence/silence.ts';
import type { QueueMeasure } from '../queue/batch-queue.ts';
import type { Db } from '../store/server/database.ts';
import { readLastArrivals, type LastArrival } from '../store/counts/read-arrivals.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';
import { formatDuration } from '../lib/text/units.ts';
import { sampleCommand } from '../ingest/sample-delivery.ts';
import { cached } from '../lib/cached.ts';

export interface OverviewParts {
  readonly readiness: OverviewOptions['readiness'];
  readonly queue: () => Promise<QueueMeasure>;
  /** The last findings of this process's silence watch. Undefined in a process without one. */
  readonly watched: (() => readonly TypeSilence[]) | undefined;
  /** The file of the generated secret, if the first source uses it. */
  readonly secretFile: string | undefined;
}

export function overviewOptions(
  config: Config,
  db: Db,
  destinations: OverviewOptions['destinations'],
  parts: OverviewParts,
): OverviewOptions {
  const { sources, publicUrl, tls, port } = config;
  const findSilences = createSilenceReader(db, parts.watched);
  return {
    db,
    readiness: parts.readiness,
    destinations,
    silences: async () =>
      (await findSilences()).map((silence) => ({ ...silence, sentence: sentenceOf(silence) })),
    firstDelivery: sampleCommand({
      baseUrl: publicUrl ?? `${tls === undefined ? 'http' : 'https'}://localhost:${port}`,
      source: sources[0]?.name ?? '',
      secretFile: parts.secretFile,
    }),
  };
}

/** What is usual is learnt every hour: it takes a second where much arrives. */
const PATTERNS_CACHE = { keepMs: 60 * 60 * 1000, timeoutMs: 30_000 };

/** The findings of this process's watch; of the database if there is no watch, or if it has found nothing yet. */
function createSilenceReader(
  db: Db,
  watched: OverviewParts['watched'],
): () => Promise<readonly TypeSilence[]> {
  const patterns = cached(() => learnPatterns(db, new Date()), PATTERNS_CACHE);
  return async () => {
    const found = watched?.() ?? [];
    if (found.length > 0) return withLatest(found, await readLastArrivals(db, ALL_SOURCES));
    return assessSilences(db, new Date(), { patterns: (await patterns()) ?? new Map() });
  };
}

/** The watch looks once a minute: what has arrived since has ended its silence. */
function withLatest(found: readonly TypeSilence[], latest: readonly LastArrival[]): readonly TypeSilence[] {
  const bySourceAndType = new Map(latest.map((one) => [`${one.messageType} ${one.source}`, one]));
  return found.map((silence) => {
    const { lastReceivedAt } = bySourceAndType.get(`${silence.messageType} ${silence.source}`) ?? silence;
    const isOver = (lastReceivedAt?.getTime() ?? 0) > (silence.lastReceivedAt?.getTime() ?? 0);
    if (lastReceivedAt === undefined || !isOver) return silence;
    const silentSeconds = Math.max(0, Math.round((Date.now() - lastReceivedAt.getTime()) / 1000));
    const state = silence.state === 'unknown' ? 'unknown' : 'usual';
    return { ...silence, lastReceivedAt, silentSeconds, state };
  });
}

function sentenceOf(silence: TypeSilence): string {
  switch (silence.state) {
    case 'unusual':
      return describeSilence(silence);
    case 'usual':
      return `nothing for ${formatDuration(silence.silentSeconds)}, which is usual at this time of the week`;
    case 'unknown':
      return 'not enough history yet (needs four weeks)';
    case 'never':
      return 'nothing has ever arrived, although a subscription exists';
  }
}
