import { pino } from 'pino';
import { alertsArea } from '../../src/console/alerts/alerts-area.ts';
import { destinationsArea } from '../../src/console/destinations/destinations-area.ts';
import type { Destination } from '../../src/forward/parse-destinations.ts';
import { outputsOf } from '../../src/serve/console-actions.ts';
import { createLiveSettings } from '../../src/serve/live-settings.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import type { Db } from '../../src/store/server/database.ts';
import { SECRETS_KEY } from './sources.ts';

/**
 * The areas of destinations and alerts, and the settings that what is added there comes into force in. `configured` are the
 * destinations of the settings.
 */
export function outputsForTests(
  db: Db,
  configured: readonly Destination[] = [],
  env: Readonly<Record<string, string>> = { SECRETS_KEY },
) {
  const given = { ...loadSettings(env), destinations: configured };
  const live = createLiveSettings({
    given,
    reread: async () => given,
    complete: async ({ sources }) => sources,
    logger: pino({ level: 'silent' }),
  });
  const { config } = live;
  const { changes, outputs, added } = outputsOf(db, db, live);
  return {
    live,
    changes,
    added,
    destinations: destinationsArea({ db, configured: () => config.destinations, changes }),
    alerts: alertsArea({ db, rules: () => config.rules, outputs }),
  };
}
