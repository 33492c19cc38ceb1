import type { Logger } from 'pino';
import { createCloudClient } from '../cloud/client.ts';
import { systemClock } from '../clock.ts';
import type { SourceConfig } from '../config.ts';
import type { Db } from '../store/database.ts';
import { createOwnership, desiredSubscriptions } from './desired.ts';
import { createSubscriber, type Subscriber } from './subscriber.ts';

interface SubscribersOptions {
  /** All sources of this installation. Those with API credentials and a secret to register get a subscriber. */
  readonly sources: readonly SourceConfig[];
  /** The names of all sources, if there are more than these: their subscriptions are left alone. */
  readonly allNames?: readonly string[];
  readonly publicUrl: string;
  readonly db: Db;
  readonly logger: Logger;
}

/** Creates a subscriber with its own client for each source. Nothing is sent yet. */
export function createSubscribers({
  sources,
  allNames = [],
  publicUrl,
  db,
  logger,
}: SubscribersOptions): Subscriber[] {
  const names = [...new Set([...sources.map(({ name }) => name), ...allNames])];
  return sources.flatMap(({ name: source, secrets: [secret], cloud, messageTypes }) => {
    if (cloud === undefined || secret === undefined) return [];
    const { apiUrl: baseUrl, credentials } = cloud;
    const otherSources = names.filter((name) => name !== source);
    return createSubscriber({
      source,
      client: createCloudClient({ baseUrl, credentials, logger }),
      db,
      clock: systemClock,
      isOurs: createOwnership({ publicUrl, otherSources }),
      desired: desiredSubscriptions({ source, publicUrl, secret, messageTypes }),
    });
  });
}
