import { startPlain } from './plain.ts';
import type { Place, RunningTarget, Variant } from './target.ts';
import { startOnEmbedded, startOnRedis } from './xiq-sink.ts';

export const TARGET_NAMES = ['redis', 'embedded', 'plain', 'plain-tuned'] as const;

export type TargetName = (typeof TARGET_NAMES)[number];

/** A receiver that can be measured. */
export interface Target {
  /** The name in the report. */
  readonly title: string;
  readonly needsRedis: boolean;
  /** Only xiq-sink has variants. */
  readonly start: (place: Place, variant?: Variant) => Promise<RunningTarget>;
}

/** Concurrent jobs: the default of BullMQ's worker, and the number of connections in pg's pool. */
const BULLMQ_DEFAULT = 1;
const POOL_DEFAULT = 10;

/** The compared receivers. */
export const TARGETS: Readonly<Record<TargetName, Target>> = {
  redis: { title: 'xiq-sink on Redis', needsRedis: true, start: startOnRedis },
  embedded: { title: 'xiq-sink on its embedded database', needsRedis: false, start: startOnEmbedded },
  plain: {
    title: 'plain receiver, as first written',
    needsRedis: true,
    start: (place) => startPlain(place, BULLMQ_DEFAULT),
  },
  'plain-tuned': {
    title: 'plain receiver, 10 concurrent jobs',
    needsRedis: true,
    start: (place) => startPlain(place, POOL_DEFAULT),
  },
};
