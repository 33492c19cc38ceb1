import type { Machine } from '../machine.ts';
import { startFluentBit } from './fluent-bit.ts';
import { startPlain } from './plain.ts';
import type { Place, RunningTarget, Variant } from './target.ts';
import { startOnEmbedded, startOnRedis } from './xiq-sink.ts';

export const TARGET_NAMES = ['redis', 'embedded', 'plain', 'plain-tuned', 'fluent-bit'] as const;

export type TargetName = (typeof TARGET_NAMES)[number];

/** A receiver that can be measured. */
export interface Target {
  /** The name in the report. */
  readonly title: string;
  /** The program that must be on PATH. */
  readonly needs?: 'redis-server' | 'fluent-bit';
  /** Whether it stores a row for each record. The others store one for each observation of a location record. */
  readonly storesRecords?: boolean;
  /** Only xiq-sink has variants. */
  readonly start: (place: Place, variant?: Variant) => Promise<RunningTarget>;
}

/** Concurrent jobs: the default of BullMQ's worker, and the number of connections in pg's pool. */
const BULLMQ_DEFAULT = 1;
const POOL_DEFAULT = 10;

/** The compared receivers. */
export const TARGETS: Readonly<Record<TargetName, Target>> = {
  redis: { title: 'xiq-sink on Redis', needs: 'redis-server', start: startOnRedis },
  embedded: { title: 'xiq-sink on its embedded database', start: startOnEmbedded },
  plain: {
    title: 'plain receiver, as first written',
    needs: 'redis-server',
    start: (place) => startPlain(place, BULLMQ_DEFAULT),
  },
  'plain-tuned': {
    title: 'plain receiver, 10 concurrent jobs',
    needs: 'redis-server',
    start: (place) => startPlain(place, POOL_DEFAULT),
  },
  'fluent-bit': {
    title: 'Fluent Bit, http to pgsql',
    needs: 'fluent-bit',
    storesRecords: true,
    start: startFluentBit,
  },
};

/** What a target needs and this machine does not have; undefined if it can run. */
export function missingFor(
  target: TargetName,
  { redis, fluentBit }: Pick<Machine, 'redis' | 'fluentBit'>,
): string | undefined {
  switch (TARGETS[target].needs) {
    case 'redis-server':
      return redis === undefined ? 'redis-server is not on PATH' : undefined;
    case 'fluent-bit':
      return fluentBit === undefined ? 'no fluent-bit with the plugins http and pgsql is on PATH' : undefined;
    case undefined:
      return undefined;
  }
}
