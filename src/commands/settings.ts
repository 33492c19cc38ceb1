import type { ServiceConfig } from '../serve/load-settings.ts';

/** Reads the settings of the environment. Rejects with a UsageError that lists every wrong one. */
export type Settings = () => Promise<ServiceConfig>;

/** The settings of an environment. Their reader loads on first use: `--help` and completion need no settings. */
export function settingsOf(env: Readonly<Record<string, string | undefined>>): Settings {
  return async () => {
    const { loadSettings } = await import('../serve/load-settings.ts');
    return loadSettings(env);
  };
}
