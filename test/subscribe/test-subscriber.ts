import { createCloudClient, type CloudClient } from '../../src/cloud/client.ts';
import type { CloudType } from '../../src/events/domain.ts';
import type { Db } from '../../src/store/server/database.ts';
import { createOwnership, desiredSubscriptions } from '../../src/subscribe/desired.ts';
import { createSubscriber, type Subscriber } from '../../src/subscribe/subscriber.ts';
import { createFakeClock, type FakeClock } from '../cloud/fake-clock.ts';

export const PUBLIC_URL = 'https://sink.test';

interface TestSubscriberOptions {
  db: Db;
  messageTypes: readonly CloudType[];
  source?: string;
  secret?: string;
  clock?: FakeClock;
  /** By default one that presents an API token. */
  client?: CloudClient;
}

/** A subscriber at the cloud of this address, on a clock of its own whose waits take no time. */
export function testSubscriber(baseUrl: string, options: TestSubscriberOptions): Subscriber {
  const { db, messageTypes, source = 'default', secret = 'webhook-secret-1' } = options;
  const { clock = createFakeClock() } = options;
  const { client = createCloudClient({ baseUrl, credentials: { apiToken: 'api-token-1' }, clock }) } =
    options;
  return createSubscriber({
    client,
    db,
    source,
    clock,
    isOurs: createOwnership({ publicUrl: PUBLIC_URL, otherSources: [] }),
    desired: desiredSubscriptions({ source, publicUrl: PUBLIC_URL, secret, messageTypes }),
  });
}
