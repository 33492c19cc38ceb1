import type { Logger } from 'pino';
import { openArchiveDatabase } from '../archive/archive-database.ts';
import { archivedEvents } from '../archive/verify-archive.ts';
import { maskConfig } from '../config/config.ts';
import type { ConsoleOptions } from '../console/admin-app.ts';
import { assistantArea } from '../console/assistant/assistant-area.ts';
import { accountsArea } from '../console/accounts/accounts-area.ts';
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
import { openPartDatabase } from '../store/server/database.ts';
import { changingSources } from '../sources/change-sources.ts';
import { closeLogged } from '../lib/close-logged.ts';
import { freeBytes } from '../lib/files/free-bytes.ts';
import { filteredBy, outputsOf, subscriptionsOf } from './console-actions.ts';
import { overviewOptions, type OverviewParts } from './console-overview.ts';
import type { LiveSettings } from './live-settings.ts';
import { openArchive } from './open-store.ts';
import { logKeyFileOf, readLogKeys } from '../seal/log-key.ts';
import { readTrust } from '../seal/trust.ts';
import { createVerifyJob } from '../seal/verify/verify-job.ts';

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
  const db = openPartDatabase('the console', 'console', { databaseUrl, logger }, opened);
  const trust = () => readTrust(config);
  const signingKey = async () => (await readLogKeys(logKeyFileOf(config))).signing;
  const access = openArchive(config, { db, databaseUrl, logger }, opened);
  const archived = archivedEvents(access, 'verifying');
  opened.defer(
    closeLogged(logger, 'the archive for verification', async () => archived[Symbol.asyncDispose]()),
  );
  const { db: events, close } = openArchiveDatabase(access, 'console');
  opened.defer(closeLogged(logger, 'the archive', close));
  const { changes, outputs, added } = outputsOf(db, events, live);
  const verifying = createVerifyJob(db, databaseUrl, trust, archived);
  opened.defer(closeLogged(logger, 'verification', () => verifying.stop()));
  const areas = [
    overviewArea(overviewOptions(config, db, destinations, parts)),
    eventsArea({ db: events, trust, isFiltered: filteredBy(destinations) }),
    peopleArea({ db: events }),
    reportsArea({ db: events, schedules: () => config.schedules }),
    liveArea({ db }),
    deliveriesArea({ db }),
    coverageArea({ db }),
    integrityArea(archived.events, verifying),
    certificateArea({ db, verifying, signingKey }),
    alertsArea({ db, rules: () => config.rules, outputs }),
    quarantineArea({ db, maxBodyBytes: config.maxBodyBytes, logger }),
    destinationsArea({ db, configured: destinations, changes }),
    subscriptionsArea(subscriptionsOf({ db, sources, allNames: live.names, publicUrl, logger, opened })),
    sourcesArea(db, changingSources(db, live)),
    accountsArea({ db }),
    settingsArea({ db, settings: () => maskConfig(config), added, reload: live.reload }),
    operatorLogArea({ db }),
    systemArea({
      db,
      queue: parts.queue,
      freeDisk: () => freeBytes(config.dataDir),
      keeping: () => config,
    }),
  ];
  return { db, openId: config.openId, areas: [...areas, assistantArea({ db, areas, logger })] };
}
