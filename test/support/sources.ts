import type { Area } from '../../src/console/area.ts';
import { settingsArea } from '../../src/console/settings/settings-area.ts';
import { sourcesArea } from '../../src/console/sources/sources-area.ts';
import { changingSources } from '../../src/sources/change-sources.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import type { Db } from '../../src/store/server/database.ts';

/** A key for the setting SECRETS_KEY. */
export const SECRETS_KEY = Buffer.alloc(32, 1).toString('base64');

/** The area of sources, with the settings of this environment. */
export function sourcesForTests(db: Db, env: Readonly<Record<string, string>> = { SECRETS_KEY }): Area {
  const config = loadSettings(env);
  return sourcesArea(db, changingSources(db, { config, configured: () => config.sources }));
}

/** The area of settings. A reload changes nothing. */
export const settingsForTests = (
  db: Db,
  settings: Readonly<Record<string, unknown>> = {},
  added: () => Promise<string> = async () => '',
): Area =>
  settingsArea({
    db,
    settings: () => settings,
    added,
    reload: async () => ({ changed: [], needs_restart: [], errors: [] }),
  });
