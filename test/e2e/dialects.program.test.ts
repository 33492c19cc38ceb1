import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { DIALECTS, type Dialect } from '../../emulator/dialects.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import { createTestDatabase } from '../support/database.ts';
import { endOfProgram, SECRET, temporaryDirectory } from '../support/program.ts';

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const Finding = z.object({ check: z.string(), status: z.string(), message: z.string() });
const PlanJson = z.array(z.object({ in_order: z.boolean(), not_offered: z.array(z.string()) }));

/** A running cloud. Closed at the end of its scope. */
interface RunningCloud extends AsyncDisposable {
  readonly apiUrl: string;
}

async function startEmulator(dialect: Dialect): Promise<RunningCloud> {
  const emulator = createEmulator({ dialect, rate: 0 });
  return { apiUrl: await emulator.listen(0), [Symbol.asyncDispose]: () => emulator.close() };
}

/**
 * A cloud that mixes the dialects: webhook subscriptions of the SDK, alert subscriptions of the specification, all else
 * of the vendor's description. The emulators have the same seed, so each accepts the tokens of the others.
 */
async function startMixed(): Promise<RunningCloud> {
  const [spec, vendor, sdk] = await Promise.all([
    startEmulator('spec'),
    startEmulator('vendor'),
    startEmulator('sdk'),
  ]);
  const emulatorOf = (path: string) => {
    if (path.startsWith('/subscriptions/')) return sdk;
    return path.startsWith('/alert-subscriptions/') ? spec : vendor;
  };
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    const passed = request(new URL(url, emulatorOf(url).apiUrl), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = z.object({ port: z.int() }).parse(server.address());
  return {
    apiUrl: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.all([spec, vendor, sdk].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

const CLOUDS: [string, () => Promise<RunningCloud>][] = [
  ...DIALECTS.map((dialect): [string, () => Promise<RunningCloud>] => [
    dialect,
    () => startEmulator(dialect),
  ]),
  ['mixed', startMixed],
];

describe.concurrent('the program and an emulated cloud', () => {
  it.each(CLOUDS)('in the dialect %s: plans, applies, lists and removes all ten', async (_name, start) => {
    await using cloud = await start();
    const database = await createTestDatabase();
    const { username, password } = EMULATOR_LOGINS.administrator;
    const settings = {
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: directory,
      CLOUD_API_URL: cloud.apiUrl,
      CLOUD_USERNAME: username,
      CLOUD_PASSWORD: password,
      PUBLIC_URL: 'http://127.0.0.1:9',
      WEBHOOK_SECRET: SECRET,
    };
    const run = async (expectedCode: number, ...args: string[]) => {
      const { code, stdout, stderr } = await endOfProgram(settings, ...args);
      expect([args, code, stderr]).toEqual([args, expectedCode, expect.any(String)]);
      return stdout.toString();
    };

    const missing = await run(3, 'subscribe', 'plan', '--check');
    for (const type of CLOUD_TYPES) expect(missing).toContain(type);
    await run(0, 'subscribe', 'apply');
    const [plan] = PlanJson.parse(JSON.parse(await run(0, 'subscribe', 'plan', '--check', '--json')));
    expect(plan).toEqual({ in_order: true, not_offered: [] });
    const listed = await run(0, 'subscribe', 'list', '--json');
    expect(JSON.parse(listed)).toHaveLength(CLOUD_TYPES.length);
    expect(listed).not.toContain(SECRET);

    // Its exit code is also that of the public address, where nothing listens.
    const { stdout } = await endOfProgram(settings, 'doctor', '--json');
    const lines = stdout.toString().trim().split('\n');
    const findings = lines.map((line) => Finding.parse(JSON.parse(line)));
    const ok = (check: string, message: string) => ({ check, status: 'ok', message });
    expect(findings).toContainEqual(ok('subscriptions', '10 subscriptions up to date'));
    expect(findings).toContainEqual(ok('api', `logs in as ${username}`));

    await run(0, 'subscribe', 'remove', '--yes');
    expect(JSON.parse(await run(0, 'subscribe', 'list', '--json'))).toEqual([]);
    await database.drop();
  });
});
