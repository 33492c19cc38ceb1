import type { Config } from '../config.ts';
import type { CommandStore } from '../serve/open-store.ts';
import type { Settings } from './settings.ts';

/** Runs a command's work on the database of the settings, as `withStore` does, with a log that holds only what went wrong. */
export async function onStore(
  settings: Settings,
  work: (store: CommandStore, config: Config, applied: readonly string[]) => Promise<void>,
): Promise<void> {
  const config = await settings();
  const { withStore } = await import('../serve/open-store.ts');
  const { quietLogger } = await import('./quiet-logger.ts');
  await withStore(config, quietLogger(), (store, applied) => work(store, config, applied));
}
