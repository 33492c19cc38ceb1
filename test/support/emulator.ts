import { onTestFinished } from 'vitest';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator, type EmulatorSetup } from '../../emulator/emulator.ts';
import { createCloudClient, type CloudClientOptions } from '../../src/cloud/client.ts';

/** A cloud for one test, in which nothing happens by itself: its address, and a client with the administrator's login. */
export async function emulatorForTest(
  setup: EmulatorSetup = {},
  options: Pick<CloudClientOptions, 'clock'> = {},
) {
  const emulator = createEmulator({ rate: 0, ...setup });
  const url = await emulator.listen(0);
  onTestFinished(() => emulator.close());
  const { username, password } = EMULATOR_LOGINS.administrator;
  const client = createCloudClient({ baseUrl: url, credentials: { username, password }, ...options });
  return { emulator, url, client };
}
