import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { CloudClient } from '../cloud/client.ts';
import type { SourceConfig } from '../config.ts';
import { logOut } from '../subscribe/subscriber.ts';
import { repeatInBackground, type PartOptions } from './background.ts';

/** Work on a source that has an API, with a client of its own. */
interface OnSource {
  readonly config: SourceConfig;
  readonly client: CloudClient;
}

/** A source that has an API. */
export type CloudSource = SourceConfig & { readonly cloud: NonNullable<SourceConfig['cloud']> };

interface CloudRounds<T> {
  /** The name of the part, for the log. */
  readonly part: string;
  /** What a failure means, for the log; the reason follows. */
  readonly failure: string;
  readonly pauseMs: number;
  readonly stopping: AbortController;
  /** Whether a round may begin. By default always. */
  readonly mayBegin?: () => Promise<boolean>;
  /** Begins a round, if there are sources. */
  readonly begin?: () => Promise<void>;
  /** Begins to work on a source. */
  readonly create: (source: CloudSource) => T;
  readonly round: (one: T) => Promise<void>;
  /** Ends the work on a source, whose client is logged out after that. */
  readonly leave: (one: T) => Promise<void>;
}

/** A source takes many calls and much memory; the others need not wait for a slow one. */
const SOURCES_AT_ONCE = 2;

/**
 * Works on all sources that have an API, round by round, until everything is closed. The sources are those of the settings
 * in force: those that are new are created at the beginning of a round, those that changed or are gone are left.
 */
export function repeatOnClouds<T extends OnSource>(
  { part, failure, pauseMs, stopping, ...rounds }: CloudRounds<T>,
  { live, logger }: Pick<PartOptions, 'live' | 'logger'>,
  started: AsyncDisposableStack,
): void {
  const { config } = live;
  const current = new Map<string, T>();
  const atOnce = pLimit(SOURCES_AT_ONCE);

  async function end(one: T): Promise<void> {
    current.delete(one.config.name);
    await rounds.leave(one);
    await logOut([one.client]);
  }

  async function follow(): Promise<readonly T[]> {
    for (const one of current.values()) {
      if (!config.sources.some((source) => isDeepStrictEqual(source, one.config))) await end(one);
    }
    for (const source of config.sources) {
      if (hasCloud(source) && !current.has(source.name)) current.set(source.name, rounds.create(source));
    }
    return [...current.values()];
  }

  async function work(): Promise<void> {
    if (!live.knowsStored() || (await rounds.mayBegin?.()) === false) return;
    const sources = await follow();
    if (sources.length > 0) await rounds.begin?.();
    await Promise.all(sources.map((source) => atOnce(() => rounds.round(source))));
  }

  async function leave(): Promise<void> {
    await Promise.all([...current.values()].map(end));
  }

  repeatInBackground({ part, failure, pauseMs, work, stopping, leave }, logger, started);
}

const hasCloud = (source: SourceConfig): source is CloudSource => source.cloud !== undefined;
