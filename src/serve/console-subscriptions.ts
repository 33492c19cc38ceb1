import type { Logger } from 'pino';
import type { SourceConfig } from '../config.ts';
import type {
  SourceSubscriptions,
  SubscriptionsOptions,
} from '../console/subscriptions/subscriptions-area.ts';
import type { Db } from '../store/database.ts';
import { logOut } from '../subscribe/subscriber.ts';
import { viewListing, viewPlan, viewStep } from '../subscribe/plan-view.ts';
import type { Subscriber } from '../subscribe/subscriber.ts';
import type { Opened } from './opened.ts';
import { createSubscribers } from '../subscribe/create-subscribers.ts';

interface ConsoleSubscriptions {
  readonly db: Db;
  readonly sources: readonly SourceConfig[];
  readonly publicUrl: string | undefined;
  readonly logger: Logger;
  readonly opened: Opened;
}

/** The subscriptions that the console shows and applies, or what is not set. Nothing is sent yet. */
export function subscriptionsOf({
  db,
  sources,
  publicUrl,
  logger,
  opened,
}: ConsoleSubscriptions): SubscriptionsOptions {
  if (publicUrl === undefined) return { db, sources: [], missing: missingOf(sources, publicUrl) };
  const subscribers = createSubscribers({ sources, publicUrl, db, logger });
  opened.push('logins of the console', () => logOut(subscribers));
  const missing = subscribers.length === 0 ? missingOf(sources, publicUrl) : [];
  return { db, sources: subscribers.map(viewsOf), missing };
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

function missingOf(
  sources: readonly SourceConfig[],
  publicUrl: string | undefined,
): SubscriptionsOptions['missing'] {
  const withApi = sources.filter(({ cloud }) => cloud !== undefined);
  return [
    ...(withApi.length === 0
      ? [
          {
            setting: 'CLOUD_API_URL',
            purpose: 'the API of the cloud, with CLOUD_API_TOKEN, or with CLOUD_USERNAME and CLOUD_PASSWORD',
          },
        ]
      : []),
    ...(publicUrl === undefined
      ? [{ setting: 'PUBLIC_URL', purpose: 'the address that the cloud is to send to' }]
      : []),
    ...(withApi.length > 0 && withApi.every(({ secrets }) => secrets.length === 0)
      ? [{ setting: 'WEBHOOK_SECRET', purpose: 'the secret that deliveries are to carry' }]
      : []),
  ];
}
