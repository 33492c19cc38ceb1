import type { Logger } from 'pino';
import { maskConfig } from '../config.ts';
import type { Config } from '../config.ts';
import type { ConsoleOptions } from '../console/admin-app.ts';
import { eventsArea } from '../console/events/events-area.ts';
import { peopleArea } from '../console/people/people-area.ts';
import { operatorLogArea } from '../console/operator-log/operator-log-area.ts';
import { overviewArea } from '../console/overview/overview-area.ts';
import { settingsArea } from '../console/settings/settings-area.ts';
import { openConsoleDatabase } from '../store/database.ts';
import { overviewOptions } from './console-overview.ts';
import type { OverviewParts } from './console-overview.ts';
import { logLostConnections } from './open-store.ts';
import type { Opened } from './opened.ts';

/** What the console needs of the process that it runs in. */
export interface ConsoleNeeds extends OverviewParts {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly logger: Logger;
}

/** Puts the console together: each area with what it asks and what it can do, in the order of the navigation. */
export function createConsole(
  { config, databaseUrl, logger, ...parts }: ConsoleNeeds,
  opened: Opened,
): ConsoleOptions {
  const db = openConsoleDatabase(databaseUrl, logLostConnections(logger));
  opened.push('database of the console', () => db.destroy());
  return {
    db,
    areas: [
      overviewArea(overviewOptions(config, db, parts)),
      eventsArea({ db }),
      peopleArea({ db }),
      settingsArea(maskConfig(config)),
      operatorLogArea({ db }),
    ],
  };
}
