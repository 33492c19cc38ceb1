import type { Logger } from 'pino';
import { maskConfig } from '../config.ts';
import type { Config } from '../config.ts';
import type { SourceConfig } from '../config.ts';
import type { ConsoleOptions } from '../console/admin-app.ts';
import { deliveriesArea } from '../console/deliveries/deliveries-area.ts';
import { destinationsArea } from '../console/destinations/destinations-area.ts';
import { eventsArea } from '../console/events/events-area.ts';
import { liveArea } from '../console/live/live-area.ts';
import { operatorLogArea } from '../console/operator-log/operator-log-area.ts';
import { overviewArea } from '../console/overview/overview-area.ts';
import { peopleArea } from '../console/people/people-area.ts';
import { quarantineArea } from '../console/quarantine/quarantine-area.ts';
import { settingsArea } from '../console/settings/settings-area.ts';
import { subscriptionsArea } from '../console/subscriptions/subscriptions-area.ts';
import { parseDestinations } from '../forward/parse-destinations.ts';
import { openConsoleDatabase } from '../store/database.ts';
import { filteredBy, sendingOf } from './console-destinations.ts';
import { overviewOptions } from './console-overview.ts';
import type { OverviewParts } from './console-overview.ts';
import { replayerOf } from './console-quarantine.ts';
import { subscriptionsOf } from './console-subscriptions.ts';
import { logLostConnections } from './open-store.ts';
import type { Opened } from './opened.ts';

/** What the console needs of the process that it runs in. */
export interface ConsoleNeeds extends OverviewParts {
  readonly config: Config;
  /** With the secrets that deliveries are to carry, also where this program has made one itself. */
  readonly sources: readonly SourceConfig[];
  readonly databaseUrl: string;
  readonly logger: Logger;
}

/** Puts the console together: each area with what it asks and what it can do, in the order of the navigation. */
export function createConsole(
  { config, sources, databaseUrl, logger, ...parts }: ConsoleNeeds,
  opened: Opened,
): ConsoleOptions {
  const db = openConsoleDatabase(databaseUrl, logLostConnections(logger));
  opened.push('database of the console', () => db.destroy());
  const destinations = parseDestinations(config.forwarding);
  return {
    db,
    areas: [
      overviewArea(overviewOptions(config, db, parts)),
      eventsArea({ db, isFiltered: filteredBy(destinations) }),
      peopleArea({ db }),
      liveArea({ db }),
      deliveriesArea({ db }),
      quarantineArea({ db, replay: replayerOf(db, config, logger) }),
      destinationsArea({ db, ...sendingOf(db, destinations) }),
      subscriptionsArea(subscriptionsOf({ db, sources, publicUrl: config.publicUrl, logger, opened })),
      settingsArea(maskConfig(config)),
      operatorLogArea({ db }),
    ],
  };
}
