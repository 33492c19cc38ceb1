import { isDeepStrictEqual } from 'node:util';
import type { CloudClient } from '../cloud/client.ts';
import type { SourceConfig } from '../config.ts';
import { logOut } from '../subscribe/subscriber.ts';
import type { LiveSettings } from './live-settings.ts';

/** Work on a source that has an API, with a client of its own. */
interface OnSource {
  readonly config: SourceConfig;
  readonly client: CloudClient;
}

/** A source that has an API. */
export type CloudSource = SourceConfig & { readonly cloud: NonNullable<SourceConfig['cloud']> };

/** The sources that have an API, as the settings change. */
interface CloudSources<T> {
  /** The sources of the present settings: those that are new are created, those that changed or are gone are left. */
  follow(): Promise<readonly T[]>;
  leaveAll(): Promise<void>;
}

/** Follows the sources that have an API. Their clients are logged out after `leave`. */
export function followCloudSources<T extends OnSource>(
  { config }: Pick<LiveSettings, 'config'>,
  create: (source: CloudSource) => T,
  leave: (one: T) => Promise<void>,
): CloudSources<T> {
  const current = new Map<string, T>();

  async function end(one: T): Promise<void> {
    current.delete(one.config.name);
    await leave(one);
    await logOut([one.client]);
  }

  return {
    async follow() {
      for (const one of current.values()) {
        if (!config.sources.some((source) => isDeepStrictEqual(source, one.config))) await end(one);
      }
      for (const source of config.sources) {
        if (hasCloud(source) && !current.has(source.name)) current.set(source.name, create(source));
      }
      return [...current.values()];
    },
    async leaveAll() {
      await Promise.all([...current.values()].map(end));
    },
  };
}

const hasCloud = (source: SourceConfig): source is CloudSource => source.cloud !== undefined;
