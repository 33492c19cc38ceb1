import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCloudClient, type CloudClient } from '../../src/cloud/client.ts';
import type { Subscription } from '../../src/cloud/contract/subscription.ts';
import { WEBHOOK_TYPES } from '../../src/events/domain.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator, type EmulatorSetup } from '../../emulator/emulator.ts';
import { type TestDatabase } from '../support/database.ts';
import { startProgram, temporaryDirectory, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest } from '../support/for-one-test.ts';

const OLD_SECRET = 'old-webhook-secret-0123456789';
const NEW_SECRET = 'new-webhook-secret-0123456789';
const FOREIGN_SECRET = 'secret-of-another-application';
const PASSWORDS = Object.values(EMULATOR_LOGINS).map(({ password }) => password);
const WRONG_PASSWORD = 'not-the-password';

/** Every JWT begins like this: the base64 of `{"`. */
const TOKEN = /eyJ[\w-]+\./;

const BIN = path.resolve('bin/xiq-sink');

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** All that any run of the program has printed in this file. */
const printed: string[] = [];

interface Ended {
  code: unknown;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end, whatever that is. */
function run(settings: Record<string, string>, ...args: string[]): Promise<Ended> {
  const env = { PATH: process.env['PATH'], ...settings };
  return new Promise((resolve) => {
    execFile(BIN, args, { env }, (error, stdout, stderr) => {
      printed.push(stdout, stderr, error?.message ?? '');
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

async function serve(settings: Record<string, string>): Promise<Program> {
  const program = await startProgram(settings);
  onTestFinished(async () => {
    printed.push(program.output());
    await program.end('SIGKILL');
  });
  return program;
}

/** A cloud, a client of its administrator, and the settings that lead the program to it. */
interface Circle {
  emulator: ReturnType<typeof createEmulator>;
  client: CloudClient;
  database: TestDatabase;
  settings: Record<string, string>;
  /** The subscriptions in the cloud. */
  readonly held: () => Promise<Subscription[]>;
}

async function createCircle(setup: EmulatorSetup = {}): Promise<Circle> {
  const database = await databaseForTest();
  const emulator = createEmulator({ rate: 0, ...setup });
  const apiUrl = await emulator.listen(0);
  onTestFinished(() => emulator.close());
  const { username, password } = EMULATOR_LOGINS.administrator;
  const client = createCloudClient({ baseUrl: apiUrl, credentials: { username, password } });
  return {
    emulator,
    client,
    database,
    settings: {
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: directory,
      WEBHOOK_SECRET: OLD_SECRET,
      PUBLIC_URL: 'http://127.0.0.1:9',
      CLOUD_API_URL: apiUrl,
      CLOUD_USERNAME: username,
      CLOUD_PASSWORD: password,
    },
    held: async () => {
      const list = await client.subscriptions.list();
      if (!list.available) throw new Error('the emulator lists no subscriptions');
      return list.subscriptions;
    },
  };
}

const typesOf = (subscriptions: readonly Subscription[]) =>
  subscriptions.map(({ message_type }) => message_type ?? '').sort();

const secretsOf = (subscriptions: readonly Subscription[]) => [
  ...new Set(subscriptions.map(({ secret }) => secret)),
];

describe('serve', () => {
  it('reports subscriptions that are not as they should be, and changes none', async () => {
    const { settings, held } = await createCircle();
    const program = await serve(settings);
    await waitFor(() => program.output().includes('the subscriptions differ from the settings'));
    expect(await held()).toEqual([]);
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('makes them right with SUBSCRIBE=auto, and ends well', async () => {
    const { settings, held } = await createCircle();
    const program = await serve({ ...settings, SUBSCRIBE: 'auto', LOG_LEVEL: 'trace' });
    await waitFor(() => program.output().includes('subscriptions repaired'));
    expect(typesOf(await held())).toEqual([...WEBHOOK_TYPES].sort());
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('runs on when the cloud is away, and ends well while it is still asking', async () => {
    const { settings, emulator } = await createCircle();
    await emulator.close();
    const program = await serve({ ...settings, SUBSCRIBE: 'auto' });
    await waitFor(() => program.output().includes('retrying after a wait'));
    expect((await fetch(`${program.url}/healthz`)).status).toBe(200);
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('takes every delivery while the secret is rotated under a load of 200 a second', async () => {
    const { settings, emulator, database, held } = await createCircle({ rate: 200 });
    const program = await serve({ ...settings, WEBHOOK_SECRET: `${NEW_SECRET},${OLD_SECRET}` });
    const deliveries = () =>
      Object.values(emulator.status().sent).reduce((sum, { answers }) => sum + (answers['200'] ?? 0), 0);
    const arrived = async (more: number) => {
      const goal = deliveries() + more;
      await waitFor(() => deliveries() >= goal);
    };
    const reachable = { ...settings, PUBLIC_URL: program.url };
    await run(reachable, 'subscribe', 'apply');
    expect(secretsOf(await held())).toEqual([OLD_SECRET]);
    await arrived(300);
    const rotation = run(
      { ...reachable, WEBHOOK_SECRET: `${NEW_SECRET},${OLD_SECRET}` },
      'subscribe',
      'apply',
    );
    expect(await rotation).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('default: 10 changes made') as unknown,
    });
    expect(secretsOf(await held())).toEqual([NEW_SECRET]);
    await arrived(300);
    await emulator.close();

    const sent = Object.values(emulator.status().sent);
    const total = (of: (one: (typeof sent)[number]) => number) => sent.reduce((sum, one) => sum + of(one), 0);
    expect(new Set(sent.flatMap(({ answers }) => Object.keys(answers)))).toEqual(new Set(['200']));
    await waitFor(async () => (await stored(database)).deliveries === total((one) => one.deliveries));
    expect(await stored(database)).toEqual({
      deliveries: total((one) => one.deliveries),
      records: total((one) => one.records),
      adds_up: true,
    });
  });
});

/** What the tables say that has come. */
/** What the cloud sent. The program stores an event of its own while it finds a subscription off. */
async function stored({ db }: TestDatabase) {
  const { rows } = await sql<{ deliveries: number; records: number; adds_up: boolean }>`
    select sum(delivery_count)::int as deliveries, sum(record_count)::int as records, bool_and(adds_up) as adds_up
    from conservation where message_type <> 'OTHER'`.execute(db);
  return rows[0] ?? { deliveries: 0, records: 0, adds_up: true };
}

describe('what was printed in all these runs', () => {
  it('holds no password, token or secret', async () => {
    const { settings, held, client } = await createCircle();
    const misled = { CLOUD_PASSWORD: 'two\nlines', CLOUD_API_URL: `https://me:${WRONG_PASSWORD}@x` };
    await Promise.all([
      run({ ...settings, CLOUD_PASSWORD: WRONG_PASSWORD }, 'subscribe', 'plan'),
      run({ ...settings, ...misled }, 'serve'),
      run(settings, 'subscribe', 'apply'),
    ]);
    await client.subscriptions.create([
      {
        application: 'siem',
        url: `https://me:${WRONG_PASSWORD}@siem.test/${FOREIGN_SECRET}`,
        secret: FOREIGN_SECRET,
        message_type: 'SMS_LOG_ALL',
      },
    ]);
    const [first] = await held();
    await client.subscriptions.update(first?.id ?? '', {
      application: 'xiq-sink',
      url: `https://me:${WRONG_PASSWORD}@old.test/?t=${FOREIGN_SECRET}`,
      secret: FOREIGN_SECRET,
      message_type: 'AUDIT_LOG_ALL',
    });
    const rotating = { ...settings, WEBHOOK_SECRET: `${NEW_SECRET},${OLD_SECRET}`, LOG_LEVEL: 'trace' };
    const reading = [['plan'], ['plan', '--json'], ['list', '--json']];
    await Promise.all(reading.map((args) => run(rotating, 'subscribe', ...args)));
    await run(rotating, 'subscribe', 'apply');
    await run(settings, 'sql', '--json', 'select * from subscriptions');

    const all = printed.join('\n');
    // The commands' output and the log of serve are both in it.
    expect(all).toContain('in_order');
    expect(all).toContain('subscriptions repaired');
    for (const secret of [...PASSWORDS, WRONG_PASSWORD, OLD_SECRET, NEW_SECRET, FOREIGN_SECRET, 'two\nlines'])
      expect(all).not.toContain(secret);
    expect(all).not.toMatch(TOKEN);
  });
});
