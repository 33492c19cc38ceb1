import { createCloudClient, type CloudClient, type CloudClientOptions } from '../../src/cloud/client.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { standIn, type Script, type StandIn } from '../support/stand-in.ts';

/** A scripted cloud and a client of it on a fake clock. */
export interface TestClient extends StandIn {
  client: CloudClient;
  clock: FakeClock;
}

/** The client presents an API token unless other options are given. */
export async function startTestClient(
  script: Script,
  options: Partial<CloudClientOptions> = {},
): Promise<TestClient> {
  const cloud = await standIn(script);
  const clock = createFakeClock();
  const client = createCloudClient({
    baseUrl: cloud.url,
    credentials: { apiToken: 'api-token-1' },
    clock,
    ...options,
  });
  return { ...cloud, client, clock };
}
