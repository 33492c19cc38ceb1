import type { Logger } from 'pino';
import { maskConfig } from '../config.ts';
import type { ConsoleOptions } from '../console/admin-app.ts';
import { alertsArea } from '../console/alerts/alerts-area.ts';
import { certificateArea } from '../console/certificate/certificate-area.ts';
import { reportsArea } from '../console/reports/reports-area.ts';
import { coverageArea } from '../console/coverage/coverage-area.ts';
import { deliveriesArea } from '../console/deliveries/deliveries-area.ts';
import { destinationsArea } from '../console/destinations/destinations-area.ts';
import { eventsArea } from '../console/events/events-area.ts';
import { integrityArea } from '../console/integrity/integrity-area.ts';
import { liveArea } from '../console/live/live-area.ts';
import { operatorLogArea } from '../console/operator-log/operator-log-area.ts';
import { overviewArea } from '../console/overview/overview-area.ts';
import { peopleArea } from '../console/people/people-area.ts';
import { quarantineArea } from '../console/quarantine/quarantine-area.ts';
import { sourcesArea } from '../console/sources/sources-area.ts';
import { settingsArea } from '../console/settings/settings-area.ts';
import { subscriptionsArea } from '../console/subscriptions/subscriptions-area.ts';
import { systemArea } from '../console/system/system-area.ts';
import { openConsoleDatabase } from '../store/database.ts';
import { openFor } from './background.ts';
import { changingSources } from './change-sources.ts';
import { closing } from './closing.ts';
import { filteredBy, replayerOf, shownRules, sendingOf, subscriptionsOf } from './console-actions.ts';
import { overviewOptions, systemOptions, type OverviewParts } from './console-overview.ts';
import type { LiveSettings } from './live-settings.ts';
import { createVerifyJob, differencesIn } from './verify-job.ts';

/** What the console needs of its process. */
export interface ConsoleNeeds extends OverviewParts {
  readonly live: LiveSettings;
  readonly databaseUrl: string;
  readonly logger: Logger;
}

/** Composes the console: each area with its data and its actions, in the order of the navigation. */
export function createConsole(
  { live, databaseUrl, logger, ...parts }: ConsoleNeeds,
  opened: AsyncDisposableStack,
): ConsoleOptions {
  const { config } = live;
  const { publicUrl } = config;
  const destinations = () => config.destinations;
  const sources = () => config.sources;
  const db = openFor('the console', openConsoleDatabase, { databaseUrl, logger }, opened);
  const verifying = createVerifyJob(db, databaseUrl);
  opened.defer(closing(logger, 'verification', () => verifying.stop()));
  return {
    db,
    openId: config.openId,
    areas: [
      overviewArea(overviewOptions(config, db, destinations, parts)),
      eventsArea({ db, isFiltered: filteredBy(destinations) }),
      peopleArea({ db }),
      reportsArea({ db, schedules: () => config.schedules }),
      liveArea({ db }),
      deliveriesArea({ db }),
      coverageArea({ db }),
      integrityArea({ db, findDifferences: differencesIn(db), ...verifying }),
      certificateArea({ db }),
      alertsArea({ db, rules: () => shownRules(config.rules) }),
      quarantineArea({ db, replay: replayerOf(db, config, logger) }),
      destinationsArea({ db, ...sendingOf(db, destinations) }),
      subscriptionsArea(subscriptionsOf({ db, sources, allNames: live.names, publicUrl, logger, opened })),
      sourcesArea(changingSources(db, live)),
      settingsArea({ db, settings: () => maskConfig(config), reload: live.reload }),
      operatorLogArea({ db }),
      systemArea(systemOptions(config, db, parts)),
    ],
  };
}
