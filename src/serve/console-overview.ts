import { statfs } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { OverviewOptions, ReadinessReport, SilenceLine } from '../console/overview/read-overview.ts';
import { assessSilences, learnRhythms } from '../observe/assess-silences.ts';
import { askSeldom } from '../observe/ask-seldom.ts';
import { describeSeconds, describeSilence } from '../observe/describe-silence.ts';
import type { TypeSilence } from '../observe/silence.ts';
import type { QueueMeasure } from '../queue/batch-queue.ts';
import type { Db } from '../store/database.ts';
import { firstDeliveryLine } from './first-delivery.ts';

/** What the overview shows of this process, beside what the database knows. */
export interface OverviewParts {
  readonly readiness: () => Promise<ReadinessReport>;
  readonly queue: () => Promise<QueueMeasure>;
  /** What this process's own watch found last; undefined in a process that has none. */
  readonly watched: (() => readonly TypeSilence[]) | undefined;
}

/** Puts together what the overview asks. */
export function overviewOptions(config: Config, db: Db, parts: OverviewParts): OverviewOptions {
  const findSilences = createSilencesQuestion(db, parts.watched);
  return {
    db,
    readiness: parts.readiness,
    queue: parts.queue,
    silences: async () => (await findSilences()).map(tellSilence),
    freeDisk: () => freeBytes(config.dataDir),
    firstDelivery: firstDeliveryLine(config),
  };
}

/** What is usual is learnt every hour: it takes a second where much arrives. */
const RHYTHMS_PATIENCE = { keepMs: 60 * 60 * 1000, patienceMs: 30_000 };

/** What the watch of this process has found; where it has none, or has not looked yet, what the database tells. */
function createSilencesQuestion(
  db: Db,
  watched: OverviewParts['watched'],
): () => Promise<readonly TypeSilence[]> {
  const rhythms = askSeldom(() => learnRhythms(db, new Date()), RHYTHMS_PATIENCE);
  return async () => {
    const found = watched?.() ?? [];
    if (found.length > 0) return found;
    return assessSilences(db, new Date(), { rhythms: (await rhythms()) ?? new Map() });
  };
}

function tellSilence(silence: TypeSilence): SilenceLine {
  const { source, messageType, lastReceivedAt, state } = silence;
  return { source, messageType, lastReceivedAt, state, sentence: sentenceOf(silence) };
}

function sentenceOf(silence: TypeSilence): string {
  switch (silence.state) {
    case 'unusual':
      return describeSilence(silence);
    case 'usual':
      return `nothing for ${describeSeconds(silence.silentSeconds)}, which is usual at this time of the week`;
    case 'unknown':
      return 'too little has arrived to know what is usual, or nothing for four weeks';
    case 'never':
      return 'nothing ever arrived, though a subscription asks for it';
  }
}

/** Bytes that this user may still write where the data directory is. */
async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
