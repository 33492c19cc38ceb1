import { afterAll, beforeAll, expect, it } from 'vitest';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { createCall, logIn } from '../../emulator/test/call.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();
let emulator: ReturnType<typeof createEmulator>;
let url: string;
beforeAll(async () => {
  emulator = createEmulator({ rate: 0, scale: { devices: 20, clients: 5, users: 5 } });
  url = await emulator.listen(0);
});
afterAll(() => emulator.close());

const { username, password } = EMULATOR_LOGINS.administrator;

const serve = async () =>
  startProgram({
    DATABASE_URL: test.databaseUrl,
    DATA_DIR: await temporaryDirectory(),
    WEBHOOK_SECRET: SECRET,
    CLOUD_API_URL: url,
    CLOUD_USERNAME: username,
    CLOUD_PASSWORD: password,
    HISTORY: 'off',
    LOG_LEVEL: 'debug',
  });

async function counts() {
  const rows = await test.query`
    select (select count(*)::int from devices) as devices, (select count(*)::int from locations) as locations,
      (select count(*)::int from people) as people, (select count(*)::int from history_leases) as leases`;
  return rows[0];
}

it('serve reads the inventory at its start, and stores what differs at the next one', async () => {
  const first = await serve();
  await waitFor(() => first.output().includes('"table":"people"'));
  expect(await first.end('SIGTERM')).toBe(0);
  expect(await counts()).toEqual({ devices: 20, locations: 5, people: 3, leases: 0 });

  const call = createCall(url, await logIn(url, 'administrator'));
  const [device] = await test.query<{ id: string }>`select device_id::text as id from devices limit 1`;
  await call('PUT', `/devices/${device?.id}/hostname?hostname=AP-Lobby`);
  const second = await serve();
  await waitFor(() => second.output().includes('"table":"devices"'));
  expect(await second.end('SIGTERM')).toBe(0);
  expect(await counts()).toEqual({ devices: 21, locations: 5, people: 3, leases: 0 });
});
