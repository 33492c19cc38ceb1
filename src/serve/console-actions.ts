import type { Logger } from 'pino';
import type { Config, SourceConfig } from '../config.ts';
import type { DestinationsOptions } from '../console/destinations/destinations-area.ts';
import type { QuarantineOptions } from '../console/quarantine/quarantine-area.ts';
import type {
  SourceSubscriptions,
  SubscriptionsOptions,
} from '../console/subscriptions/subscriptions-area.ts';
import type { IsFiltered } from '../console/events/describe-event.ts';
import { allRules, type ConfiguredRule } from '../forward/rules/parse-rules.ts';
import { createFilter } from '../forward/destination-filter.ts';
import { findDestination, type Destination } from '../forward/parse-destinations.ts';
import { resendRejected, sendTest } from '../forward/send-to-destination.ts';
import { groupByBytes, replayQuarantined } from '../replay/replay.ts';
import type { ShownRule } from '../console/alerts/alerts-area.ts';
import type { Db } from '../store/database.ts';
import type { Replay } from '../store/quarantine.ts';
import { createSubscribers, logOut, type Subscriber } from '../subscribe/subscriber.ts';
import { viewListing, viewPlan, viewStep } from '../subscribe/plan-view.ts';
import { closing } from './closing.ts';

/** The destinations of the settings in force. */
type Destinations = () => readonly Destination[];

/** What the console can send to destinations, exactly as the commands do. */
export function sendingOf(
  db: Db,
  destinations: Destinations,
): Pick<DestinationsOptions, 'configured' | 'sendTest' | 'resend'> {
  return {
    configured: destinations,
    sendTest: (name) => sendTest(findDestination(destinations(), name), () => undefined),
    resend: (name, rejected) => resendRejected(db, findDestination(destinations(), name), rejected),
  };
}

/** Whether a destination's current filter leaves an event out. A destination that is no longer configured has no filter. */
export function filteredBy(destinations: Destinations): IsFiltered {
  const filters = derived(
    destinations,
    (current) => new Map(current.map(({ name, filter }) => [name, createFilter(filter)])),
  );
  return (destination, event) => filters().get(destination)?.(event) === false;
}

/** The rules that are built in and those of the settings, which are on. */
export const shownRules = (configured: readonly ConfiguredRule[]): readonly ShownRule[] =>
  allRules(configured).map(({ name, title, severity }) => ({
    name,
    title,
    severity,
    isOn: configured.some((rule) => rule.name === name),
  }));

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

/** How the console replays quarantined items: exactly as the command does, in transactions of limited size. */
export function replayerOf(
  db: Db,
  { maxBodyBytes }: Pick<Config, 'maxBodyBytes'>,
  logger: Logger,
): QuarantineOptions['replay'] {
  return async (scope, items, giveUp) => {
    const replays: Replay[] = [];
    for (const ids of groupByBytes(items, maxBodyBytes)) {
      if (giveUp.aborted) throw new Error(`stopped after ${replays.length}; the other items are unchanged`);
      replays.push(...(await replayQuarantined({ db, scope, logger, maxBodyBytes, giveUp }, ids)));
    }
    return replays;
  };
}

interface ConsoleSubscriptions {
  readonly db: Db;
  readonly sources: () => readonly SourceConfig[];
  /** The names of all sources, if there are more. */
  readonly allNames?: () => readonly string[];
  readonly publicUrl: string | undefined;
  readonly logger: Logger;
  readonly opened: AsyncDisposableStack;
}

/** The subscriptions that the console shows and applies, or the settings that are missing for it. Calls no API yet. */
export function subscriptionsOf({
  db,
  sources,
  allNames = () => [],
  publicUrl,
  logger,
  opened,
}: ConsoleSubscriptions): SubscriptionsOptions {
  const subscribers = derived(sources, (current, before: readonly Subscriber[] = []) => {
    void logOut(before).catch((error: unknown) => logger.debug({ err: error }, 'logins were not ended'));
    if (publicUrl === undefined) return [];
    return createSubscribers({ sources: current, allNames: allNames(), publicUrl, db, logger });
  });
  opened.defer(closing(logger, 'logins of the console', () => logOut(subscribers())));
  return {
    db,
    get sources() {
      return subscribers().map(viewsOf);
    },
    get missing() {
      return subscribers().length === 0 ? missingSettings(sources(), publicUrl) : [];
    },
  };
}

function viewsOf(subscriber: Subscriber): SourceSubscriptions {
  const { source } = subscriber;
  return {
    source,
    async look(signal) {
      const plan = viewPlan(source, await subscriber.plan('subscribed', signal));
      return { ...plan, held: viewListing(source, await subscriber.list(signal)) };
    },
    async apply(signal) {
      const { outcomes, unfinished } = await subscriber.apply('subscribed', { signal });
      return {
        outcomes: outcomes.map(({ change, error }) => ({
          step: viewStep(change),
          error: error?.message ?? null,
        })),
        unfinished: unfinished.map(({ change, reason }) => ({ step: viewStep(change), reason })),
      };
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
      purpose: 'the address to which the cloud sends deliveries',
    },
    hasNoSecret && { setting: 'WEBHOOK_SECRET', purpose: 'the secret of the deliveries' },
  ].filter((missing) => missing !== false);
}
