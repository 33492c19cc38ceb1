import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { isProblem } from '../../src/observe/readiness.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest, directoryForTest, redisForTest, serveForTest } from '../support/for-one-test.ts';
import { postDelivery, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

/** The time within which a cause must be named. */
const NAMED_WITHIN_MS = 10_000;

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

const post = async ({ url }: Pick<Program, 'url'>) => {
  const response = await postDelivery({ url }, 'AUDIT_LOG_ALL', [auditRecord({ userId: 1 })]);
  return response.status;
};

const Ready = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });

const ready = async ({ url }: Pick<Program, 'url'>) => {
  const response = await fetch(`${url}/readyz`);
  return { code: response.status, ...Ready.parse(await response.json()) };
};

const Overview = z.object({
  checks: z.array(z.object({ name: z.string(), state: z.string(), why: z.string() })),
});

/** What the console says is wrong, one line each. */
const reasonsOf = async ({ adminUrl }: Pick<Program, 'adminUrl'>) =>
  Overview.parse(await (await fetch(`${adminUrl}/api/v1/overview`)).json())
    .checks.filter(isProblem)
    .map(({ name, state, why }) => `${name}: ${state}: ${why}`)
    .join('\n');

/** Waits until the console says this, in the time that a person is promised. Resolves with the state of the part. */
async function named(program: Program, part: string, reason: RegExp): Promise<string | undefined> {
  let last = '';
  await waitFor(async () => {
    last = await reasonsOf(program);
    return reason.test(last);
  }, NAMED_WITHIN_MS).catch((error: unknown) => {
    throw new Error(`the console says: ${last}`, { cause: error });
  });
  return (await ready(program)).checks[part];
}

describe('readiness names, within 10 s,', () => {
  it('a synchronous standby that is away', async () => {
    const directory = await directoryForTest();
    const program = await serveForTest({ DATA_DIR: directory });
    const { port, bootstrapPassword } = z
      .object({ port: z.number(), bootstrapPassword: z.string() })
      .parse(JSON.parse(await readFile(path.join(directory, 'postgres', 'credentials.json'), 'utf8')));
    const admin = await connect(`postgres://postgres:${bootstrapPassword}@127.0.0.1:${port}/postgres`);
    const become = async (standby: string) => {
      await admin.query(`alter system set synchronous_standby_names = '${standby}'`);
      await admin.query('select pg_reload_conf()');
    };
    expect(await post(program)).toBe(200);
    await become('gone');
    expect(await post(program)).toBe(200);
    // Whether the delivery reached the queue before that depends on the moment.
    expect(await named(program, 'database', /(storing: stuck|queue: spooling): .*synchronous standby/)).toBe(
      'ok',
    );
    expect((await ready(program)).code).toBe(200);
    await become('');
    await waitFor(async () => (await ready(program)).status === 'ok', 30_000);
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('a session that locks a table', async () => {
    const { databaseUrl, adminUrl } = await databaseForTest();
    const redis = await redisForTest();
    const startRole = (role: string) =>
      serveForTest({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url }, '--role', role);
    const worker = await startRole('worker');
    const ingest = await startRole('ingest');
    const console = await startRole('console');
    await waitFor(async () => (await ready(worker)).code === 200);
    const blocker = await connect(adminUrl);
    await blocker.query('begin; lock table audit_events in share mode');
    expect(await post(ingest)).toBe(200);
    await waitFor(async () => (await ready(worker)).checks['storing'] === 'stuck', NAMED_WITHIN_MS);
    expect((await ready(worker)).code).toBe(503);
    expect((await ready(ingest)).code).toBe(200);
    // The worker reports every 10 s.
    await waitFor(
      async () =>
        /storing \(worker on .*\): stuck: .*a lock is held by pid \d+/.test(await reasonsOf(console)),
      2 * NAMED_WITHIN_MS,
    );
    await blocker.query('rollback');
    await waitFor(async () => (await ready(worker)).code === 200, 30_000);
    await waitFor(async () => (await reasonsOf(console)) === '', 30_000);
    await worker.end('SIGTERM');
    await waitFor(async () => (await reasonsOf(console)).includes('no process that stores'));
  });
});
