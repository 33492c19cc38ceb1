import { createCloudClient, type CloudClient, type CloudClientOptions } from '../../src/cloud/client.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { startScriptedCloud, type Script, type ScriptedCloud } from './scripted-cloud.ts';

/** A scripted cloud and a client of it on a fake clock. */
export interface TestClient extends ScriptedCloud {
  client: CloudClient;
  clock: FakeClock;
}

/** The client presents an API token unless other options are given. */
export async function startTestClient(
  script: Script,
  options: Partial<CloudClientOptions> = {},
): Promise<TestClient> {
  const cloud = await startScriptedCloud(script);
  const clock = createFakeClock();
  const client = createCloudClient({
    baseUrl: cloud.baseUrl,
    credentials: { apiToken: 'api-token-1' },
    clock,
    ...options,
  });
  return { ...cloud, client, clock };
}
