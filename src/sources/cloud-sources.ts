import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import { logOut, type CloudClient } from '../cloud/client.ts';
import type { SourceConfig } from '../config/config.ts';
import type { Logger } from 'pino';
import { repeatInBackground } from '../lib/repeat.ts';
import { UsageError } from '../lib/errors.ts';

/** A source that has an API. */
export type CloudSource = SourceConfig & { readonly cloud: NonNullable<SourceConfig['cloud']> };

/** The sources of the settings and of the database. */
export interface CloudSources {
  readonly config: { readonly sources: readonly SourceConfig[] };
  /** Whether the sources of the database are known. */
  readonly knowsStored: () => boolean;
  readonly logger: Logger;
}

interface CloudRounds<T> {
  readonly part: string;
  /** What a failure means, for the log; the reason follows. */
  readonly failure: string;
  readonly pauseMs: number;
  readonly stopping: AbortController;
  /** Whether a round may begin. By default always. */
  readonly mayBegin?: () => Promise<boolean>;
  readonly begin?: () => Promise<void>;
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
export function repeatOnClouds<T extends { readonly config: SourceConfig; readonly client: CloudClient }>(
  { part, failure, pauseMs, stopping, ...rounds }: CloudRounds<T>,
  { config, knowsStored, logger }: CloudSources,
  started: AsyncDisposableStack,
): void {
  const current = new Map<string, T>();
  const atOnce = pLimit(SOURCES_AT_ONCE);

  async function end(one: T): Promise<void> {
    current.delete(one.config.name);
    await rounds.leave(one);
    await logOut([one.client]);
  }

  async function follow(): Promise<readonly T[]> {
    const wanted = new Map(config.sources.map((source) => [source.name, source]));
    for (const one of current.values()) {
      if (!isDeepStrictEqual(wanted.get(one.config.name), one.config)) await end(one);
    }
    for (const source of wanted.values()) {
      if (hasCloud(source) && !current.has(source.name)) current.set(source.name, rounds.create(source));
    }
    return [...current.values()];
  }

  async function work(): Promise<void> {
    if (!knowsStored() || (await rounds.mayBegin?.()) === false) return;
    const sources = await follow();
    if (sources.length > 0) await rounds.begin?.();
    await Promise.all(sources.map((source) => atOnce(() => rounds.round(source))));
  }

  async function leave(): Promise<void> {
    await Promise.all([...current.values()].map(end));
  }

  repeatInBackground({ part, failure, pauseMs, work, stopping, leave }, logger, started);
}

/** Whether a source has an API. */
export const hasCloud = (source: SourceConfig): source is CloudSource => source.cloud !== undefined;

/** The chosen source, or all that have an API. Throws a UsageError if it has none, or no source has. */
export function sourcesWithApi(sources: readonly SourceConfig[], wanted: string | undefined) {
  const withApi = sources.filter(hasCloud);
  if (withApi.length === 0) {
    throw new UsageError(
      'API access to the cloud is not configured. Set CLOUD_API_URL with CLOUD_API_TOKEN, or with CLOUD_USERNAME and CLOUD_PASSWORD.',
    );
  }
  if (wanted === undefined) return withApi;
  const chosen = withApi.filter(({ name }) => name === wanted);
  if (chosen.length > 0) return chosen;
  const names = withApi.map(({ name }) => name).join(', ');
  throw new UsageError(
    `There is no source "${wanted}" with API access to the cloud. Sources with API access: ${names}.`,
  );
}
