import { expect, it, onTestFinished } from 'vitest';
import { createCloudClient } from '../../src/cloud/client.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { DIALECTS } from '../../emulator/dialects.ts';
import { createEmulator, type EmulatorSetup } from '../../emulator/emulator.ts';
import { createFakeClock } from './fake-clock.ts';

/** An emulator and its administrator's client, whose waits take no time. */
async function start(setup: EmulatorSetup) {
  const emulator = createEmulator({ rate: 0, scale: { devices: 25, clients: 10, users: 10 }, ...setup });
  const baseUrl = await emulator.listen(0);
  onTestFinished(() => emulator.close());
  const { username, password } = EMULATOR_LOGINS.administrator;
  const clock = createFakeClock(Date.now());
  return { emulator, client: createCloudClient({ baseUrl, credentials: { username, password }, clock }) };
}

it.each(DIALECTS)('alerts and whole descriptions are read in the dialect %s', async (dialect) => {
  const { emulator, client } = await start({ dialect });
  emulator.happen('ALERT', 150);
  emulator.happen('AUDIT_LOG_ALL', 100);
  const span = { from: Date.now() - 3_600_000, to: Date.now() + 1000 };
  const alerts = await Array.fromAsync(client.logs.read({ kind: 'alerts', ...span }));
  expect(new Set(alerts.map(({ id }) => id)).size).toBe(150);
  expect(await Array.fromAsync(client.logs.read({ kind: 'alerts', from: 0, to: span.from }))).toEqual([]);
  const audit = await Array.fromAsync(client.logs.read({ kind: 'audit', ...span }));
  const summary = audit.find(({ full_description_id: id }) => typeof id === 'number');
  const whole = await client.logs.fullDescription(String(summary?.['full_description_id']));
  expect(whole?.startsWith(`${String(summary?.['description'])}: `)).toBe(true);
  expect(await client.logs.fullDescription('1')).toBeUndefined();
});
