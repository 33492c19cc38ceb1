import { expect, it } from 'vitest';
import { DIALECTS } from '../../emulator/dialects.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { createFakeClock } from './fake-clock.ts';

it.each(DIALECTS)('alerts and whole descriptions are read in the dialect %s', async (dialect) => {
  const { emulator, client } = await emulatorForTest(
    { scale: { devices: 25, clients: 10, users: 10 }, dialect },
    { clock: createFakeClock(Date.now()) },
  );
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
