import type { Logger } from 'pino';
import { changingRules } from '../alerts/change-rules.ts';
import type { SourceConfig } from '../config/config.ts';
import type { SubscriptionsOptions } from '../console/subscriptions/subscriptions-area.ts';
import type { IsFiltered } from '../console/events/describe-event.ts';
import { changingDestinations } from '../forward/change-destinations.ts';
import { exportOutputs } from '../forward/export-outputs.ts';
import { listAddedOutputs } from '../store/destinations/added-outputs.ts';
import type { LiveSettings } from './live-settings.ts';
import { createFilter } from '../forward/destination-filter.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import type { Db } from '../store/server/database.ts';
import { logOut } from '../cloud/client.ts';
import { createSubscribers, type Subscriber } from '../subscribe/subscriber.ts';
import { closeLogged } from '../lib/close-logged.ts';

/** Whether a destination's current filter leaves an event out. A destination that is no longer configured has no filter. */
export function filteredBy(destinations: () => readonly Destination[]): IsFiltered {
  const filters = derived(
    destinations,
    (current) => new Map(current.map(({ name, filter }) => [name, createFilter(filter)])),
  );
  return (destination, event) => filters().get(destination)?.(event) === false;
}

/** The changes of destinations and alert rules that the console makes, and what was added as YAML. */
export function outputsOf(db: Db, events: Db, live: LiveSettings) {
  const { config, destinationNames: names, configuredDestinations: inSettings } = live;
  const changes = changingDestinations({
    db,
    config,
    configured: inSettings,
    apply: async () => void live.useOutputs(await listAddedOutputs(db)),
  });
  const configured = () => config.rules;
  const rules = changingRules({ db, events, configured, destinations: names, inSettings });
  return {
    changes,
    outputs: { rules, destinations: changes, names },
    added: async () => exportOutputs(await listAddedOutputs(db)),
  };
}

/** What is made from settings, made again when they have changed. */
function derived<Settings, Made>(
  settings: () => Settings,
  make: (current: Settings, before: Made | undefined) => Made,
): () => Made {
  let last: { readonly of: Settings; readonly made: Made } | undefined;
  return () => {
    const current = settings();
    if (last?.of !== current) last = { of: current, made: make(current, last?.made) };
    return last.made;
  };
}

interface ConsoleSubscriptions {
  readonly db: Db;
  readonly sources: () => readonly SourceConfig[];
  /** The names of all sources, of which there may be more. */
  readonly allNames: () => readonly string[];
  readonly publicUrl: string | undefined;
  readonly logger: Logger;
  readonly opened: AsyncDisposableStack;
}

/** The subscriptions that the console shows and applies, or the settings that are missing for it. Calls no API yet. */
export function subscriptionsOf({
  db,
  sources,
  allNames,
  publicUrl,
  logger,
  opened,
}: ConsoleSubscriptions): SubscriptionsOptions {
  const subscribers = derived(sources, (current, before: readonly Subscriber[] = []) => {
    void logOut(before).catch((error: unknown) => logger.debug({ err: error }, 'logins were not ended'));
    if (publicUrl === undefined) return [];
    return createSubscribers({ sources: current, allNames: allNames(), publicUrl, db, logger });
  });
  opened.defer(closeLogged(logger, 'logins of the console', () => logOut(subscribers())));
  return {
    db,
    get subscribers() {
      return subscribers();
    },
    get missing() {
      return subscribers().length === 0 ? missingSettings(sources(), publicUrl) : [];
    },
  };
}

function missingSettings(
  sources: readonly SourceConfig[],
  publicUrl: string | undefined,
): SubscriptionsOptions['missing'] {
  const withApi = sources.filter(({ cloud }) => cloud !== undefined);
  const apiPurpose = "the cloud's API, with CLOUD_API_TOKEN, or with CLOUD_USERNAME and CLOUD_PASSWORD";
  const hasNoSecret = withApi.length > 0 && withApi.every(({ secrets }) => secrets.length === 0);
  return [
    withApi.length === 0 && { setting: 'CLOUD_API_URL', purpose: apiPurpose },
    publicUrl === undefined && {
      setting: 'PUBLIC_URL',
      purpose: 'the address that the cloud sends deliveries to',
    },
    hasNoSecret && { setting: 'WEBHOOK_SECRET', purpose: 'the webhook secret' },
  ].filter((missing) => missing !== false);
}
