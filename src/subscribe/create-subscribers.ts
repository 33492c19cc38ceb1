import type { Logger } from 'pino';
import { createCloudClient } from '../cloud/client.ts';
import { systemClock } from '../clock.ts';
import type { SourceConfig } from '../config.ts';
import type { Db } from '../store/database.ts';
import { desiredSubscriptions } from './desired.ts';
import { createOwnership } from './ownership.ts';
import { createSubscriber } from './subscriber.ts';
import type { Subscriber } from './subscriber.ts';

interface SubscribersOptions {
  /** All sources of this program; those that have an API and a secret to register get a subscriber. */
  readonly sources: readonly SourceConfig[];
  readonly publicUrl: string;
  readonly db: Db;
  readonly logger: Logger;
}

/** The subscribers of the sources, each with a client of its own. Nothing is sent yet. */
export function createSubscribers({ sources, publicUrl, db, logger }: SubscribersOptions): Subscriber[] {
  return sources.flatMap(({ name: source, secrets: [secret], cloud, messageTypes }) => {
    if (cloud === undefined || secret === undefined) return [];
    const { apiUrl: baseUrl, credentials } = cloud;
    const otherSources = sources.map(({ name }) => name).filter((name) => name !== source);
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
