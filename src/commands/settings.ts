import type { Config } from '../config.ts';

/** Reads the settings of the environment. Rejects with a UsageError that lists every wrong one. */
export type Settings = () => Promise<Config>;

/**
 * The settings of an environment. What reads them is loaded when a command asks: `--help` and completion need no
 * settings and should not wait for it.
 */
export function settingsOf(env: Readonly<Record<string, string | undefined>>): Settings {
  return async () => {
    const { loadConfig } = await import('../config.ts');
    return loadConfig(env);
  };
}
