import { onTestFinished } from 'vitest';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator, type EmulatorSetup } from '../../emulator/emulator.ts';
import { createCloudClient, type CloudClientOptions } from '../../src/cloud/client.ts';

const { username, password } = EMULATOR_LOGINS.administrator;

/** The settings of a service for the emulator at this address, with the administrator's login. */
export const cloudSettings = (url: string) => ({
  CLOUD_API_URL: url,
  CLOUD_USERNAME: username,
  CLOUD_PASSWORD: password,
});

/** A cloud for one test, in which nothing happens by itself: its address, and a client with the administrator's login. */
export async function emulatorForTest(
  setup: EmulatorSetup = {},
  options: Pick<CloudClientOptions, 'clock'> = {},
) {
  const emulator = createEmulator({ rate: 0, ...setup });
  const url = await emulator.listen(0);
  onTestFinished(() => emulator.close());
  const client = createCloudClient({ baseUrl: url, credentials: { username, password }, ...options });
  return { emulator, url, client };
}
