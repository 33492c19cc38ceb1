import type { ServiceConfig } from '../../serve/load-settings.ts';
import type { CommandStore } from '../../serve/open-store.ts';
import type { Environment } from '../../config/references.ts';
import { FAILED } from './process.ts';

/** Reads the settings of the environment. Rejects with a UsageError that lists every wrong one. */
export type Settings = () => Promise<ServiceConfig>;

/**
 * The settings of an environment, by which this process connects to others from then on. Their reader is loaded on the first
 * call: `--help` and completion need no settings.
 */
export function settingsOf(env: () => Environment): Settings {
  return async () => {
    const { loadSettings } = await import('../../serve/load-settings.ts');
    const { configureOutgoing } = await import('../../lib/outgoing.ts');
    const config = loadSettings(env());
    configureOutgoing(config.cloudCaFile);
    return config;
  };
}

/** The log of a one-off command, whose result is its output: warnings and errors only. */
export async function quietLogger() {
  const { createLogger } = await import('../../lib/logger.ts');
  return createLogger('warn');
}

/** Runs a command's work on the existing database of the settings, as `withStore` does. It has failed if it says false. */
export async function runOnStore(
  settings: Settings,
  work: (store: CommandStore, config: ServiceConfig) => Promise<boolean | void>,
): Promise<void> {
  const config = await settings();
  const { withStore } = await import('../../serve/open-store.ts');
  await withStore(config, await quietLogger(), async (store) => {
    if ((await work(store, config)) === false) process.exitCode = FAILED;
  });
}
