import { startPlain } from './plain.ts';
import type { Place, RunningTarget } from './target.ts';
import { startOnEmbedded, startOnRedis } from './xiq-sink.ts';

export const TARGET_NAMES = ['redis', 'embedded', 'plain'] as const;

export type TargetName = (typeof TARGET_NAMES)[number];

/** A receiver that can be measured. */
export interface Target {
  /** What a person reads in the table. */
  readonly title: string;
  readonly needsRedis: boolean;
  readonly start: (place: Place) => Promise<RunningTarget>;
}

/** The receivers that are compared. */
export const TARGETS: Readonly<Record<TargetName, Target>> = {
  redis: { title: 'xiq-sink on Redis', needsRedis: true, start: startOnRedis },
  embedded: { title: 'xiq-sink on its embedded database', needsRedis: false, start: startOnEmbedded },
  plain: { title: 'plain receiver on Redis', needsRedis: true, start: startPlain },
};
