import type { CommandStore } from '../serve/open-store.ts';
import type { ServiceConfig } from '../serve/load-settings.ts';
import type { Settings } from './settings.ts';

/** Runs a command's work on the existing database of the settings, as `withStore` does, and logs only warnings and errors. */
export async function onStore(
  settings: Settings,
  work: (store: CommandStore, config: ServiceConfig) => Promise<void>,
): Promise<void> {
  const config = await settings();
  const { withStore } = await import('../serve/open-store.ts');
  const { quietLogger } = await import('./quiet-logger.ts');
  await withStore(config, quietLogger(), (store) => work(store, config));
}
