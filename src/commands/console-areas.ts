import type { Logger } from 'pino';
import { maskConfig } from '../config.ts';
import type { Config } from '../config.ts';
import type { ConsoleOptions } from '../console/admin-app.ts';
import { eventsArea } from '../console/events/events-area.ts';
import { peopleArea } from '../console/people/people-area.ts';
import { settingsArea } from '../console/settings/settings-area.ts';
import { openConsoleDatabase } from '../store/database.ts';
import { logLostConnections } from './open-store.ts';
import type { Opened } from './opened.ts';

/** Puts the console together: each area with what it asks and what it can do, in the order of the navigation. */
export function createConsole(
  config: Config,
  databaseUrl: string,
  logger: Logger,
  opened: Opened,
): ConsoleOptions {
  const db = openConsoleDatabase(databaseUrl, logLostConnections(logger));
  opened.push('database of the console', () => db.destroy());
  return {
    db,
    areas: [eventsArea({ db }), peopleArea({ db }), settingsArea(maskConfig(config))],
  };
}
