import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endOfProgram, postDelivery, PROGRAM } from '../support/program.ts';
import { createOwnedDatabase } from '../support/database.ts';
import { loadMigrations } from '../../src/store/server/schema/migrations.ts';
import { hasRedisServer, startRedis } from '../support/redis.ts';
import { startServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../support/for-one-test.ts';
import { listen } from '../support/listen.ts';

/** The bound of a stop without draining, with the time to notice the end of the process. */
const BOUND_MS = 7_500;

describe('SIGTERM', () => {
  it('ends readiness and every connection, and accepts deliveries until it has drained', async () => {
    const database = await databaseForTest();
    const program = await serveForTest({ DATABASE_URL: database.databaseUrl, DRAIN_SECONDS: '3' });
    const began = performance.now();
    const ended = program.end('SIGTERM');
    await waitFor(async () => (await fetch(`${program.url}/readyz`)).status === 503);
    const ready = await fetch(`${program.url}/readyz`);
    expect(await ready.json()).toEqual({ status: 'unavailable', checks: { process: 'stopping' } });
    const answer = await postDelivery(program, 'AUDIT_LOG_ALL', '{}');
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    for (const url of [`${program.url}/healthz`, `${program.adminUrl}/healthz`]) {
      const { status, headers } = await fetch(url);
      expect([status, headers.get('connection')]).toEqual([200, 'close']);
    }
    expect(await ended).toBe(0);
    expect(performance.now() - began).toBeGreaterThan(3_000);
    expect(performance.now() - began).toBeLessThan(3_000 + BOUND_MS);
  });

  it.each([
    ['SIGINT, which does not wait for proxies', {}, ['SIGINT']],
    ['a second signal, at once', { code: 1 }, ['SIGTERM', 'SIGTERM']],
  ] as const)(
    'drains for the time set, except after %s',
    async (_why, { code = 0 }: { code?: number }, signals) => {
      const database = await databaseForTest();
      const program = await serveForTest({ DATABASE_URL: database.databaseUrl, DRAIN_SECONDS: '60' });
      const began = performance.now();
      const [first, second] = signals;
      const ended = program.end(first);
      await waitFor(() => program.output().includes('stopping'));
      if (second !== undefined) program.signal(second);
      expect(await ended).toBe(code);
      expect(performance.now() - began).toBeLessThan(BOUND_MS);
    },
  );
});

/** A start that does not get ready: its output, and how it ends. */
function begin(settings: Record<string, string>, ...args: string[]) {
  const env = { PATH: process.env['PATH'], PORT: '0', HOST: '127.0.0.1', ADMIN_PORT: '0', ...settings };
  const program = startServerProcess(PROGRAM, ['serve', ...args], { env });
  onTestFinished(() => program.end('SIGKILL'));
  return {
    output: program.output,
    /** The exit code after a signal, and the time that it took. */
    async end(signal: NodeJS.Signals) {
      const began = performance.now();
      await program.end(signal);
      return { code: program.exitCode(), ms: performance.now() - began };
    },
  };
}

/** The processes whose command line contains a text. */
async function processesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(text)) found.push(line.replaceAll('\0', ' '));
  }
  return found;
}

describe('SIGTERM during the start', () => {
  it('ends it while the migrations wait for a lock, and the next start works', async () => {
    const database = await databaseForTest();
    const holder = new Client({ connectionString: database.adminUrl });
    await holder.connect();
    await holder.query('begin; select from kysely_migration_lock for update');
    const settings = { DATABASE_URL: database.databaseUrl, DATA_DIR: await directoryForTest() };
    const starting = begin(settings, '--role', 'worker');
    const isWaiting = async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        database.db,
      );
      return rows.length === 1;
    };
    await waitFor(isWaiting);
    const { code, ms } = await starting.end('SIGTERM');
    expect([code, code === 0 ? '' : starting.output()]).toEqual([0, '']);
    expect(ms).toBeLessThan(3_000);
    expect(await isWaiting()).toBe(false);
    await holder.end();
    expect(await (await serveForTest(settings, '--role', 'worker')).end('SIGTERM')).toBe(0);
  });

  it.each(['initdb', 'checkpointer', 'xiq-sink'])(
    'ends it while the embedded database starts (%s runs), and the next start works',
    async (stage) => {
      const directory = await directoryForTest();
      const settings = { DATA_DIR: directory, LOG_LEVEL: 'debug' };
      const starting = begin(settings);
      await waitFor(async () => {
        if (stage === 'initdb') return (await processesWith('/cluster.new')).length > 0;
        if (stage === 'checkpointer')
          return (await processesWith(`${directory}/postgres/cluster`)).length > 0;
        return starting.output().includes('starting');
      });
      const { code, ms } = await starting.end('SIGTERM');
      expect([code, code === 0 ? '' : starting.output()]).toEqual([0, '']);
      expect(ms).toBeLessThan(BOUND_MS);
      await waitFor(async () => (await processesWith(directory)).length === 0);
      const program = await serveForTest(settings);
      expect(await program.end('SIGTERM')).toBe(0);
      expect(await processesWith(directory)).toEqual([]);
    },
  );

  it('ends it while a database accepts connections and never answers', async () => {
    const silent = createServer(() => undefined);
    const port = await listen(silent);
    onTestFinished(() => void silent.close());
    const starting = begin({
      DATABASE_URL: `postgresql://nobody@127.0.0.1:${port}/none`,
      DATA_DIR: await directoryForTest(),
    });
    await once(silent, 'connection');
    const { code, ms } = await starting.end('SIGTERM');
    expect([0, 1]).toContain(code);
    expect(ms).toBeLessThan(10_000);
  });

  it.skipIf(!hasRedisServer()).each(['away', 'silent'])('ends it while Redis is %s', async (how) => {
    const database = await databaseForTest();
    const redis = await startRedis();
    let isStopped = false;
    const stop = async () => {
      redis.signal('SIGCONT');
      if (!isStopped) await redis.stop();
      isStopped = true;
    };
    onTestFinished(stop);
    if (how === 'away') await stop();
    else redis.signal('SIGSTOP');
    const settings = {
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: await directoryForTest(),
      REDIS_URL: redis.url,
      LOG_LEVEL: 'debug',
    };
    const starting = begin(settings);
    await waitFor(() => starting.output().includes('starting'));
    const { code, ms } = await starting.end('SIGTERM');
    expect([code, code === 0 ? '' : starting.output()]).toEqual([0, '']);
    expect(ms).toBeLessThan(BOUND_MS);
  });
});

it('MIGRATE=off leaves the tables to the command: serve refuses with exit code 2, and ingest starts', async () => {
  const database = await createOwnedDatabase();
  onTestFinished(() => database.drop());
  const provider = { getMigrations: async () => ({ ...(await loadMigrations()) }) };
  const { error } = await new Migrator({ db: database.db, provider }).migrateTo('0007_cloud');
  expect(error).toBeUndefined();
  const settings = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: await directoryForTest(),
    PORT: '0',
    ADMIN_PORT: '0',
    MIGRATE: 'off',
  };
  const { code, stderr } = await endOfProgram(settings, 'serve');
  expect(code).toBe(2);
  expect(stderr).toMatch(/older version of xiq-sink\. Update its tables with: .*xiq-sink migrate/);
  const ingest = await serveForTest(settings, '--role', 'ingest');
  expect(await ingest.end('SIGTERM')).toBe(0);

  expect((await endOfProgram(settings, 'migrate')).stdout.toString()).toContain('0008_outputs');
  expect(await (await serveForTest(settings)).end('SIGTERM')).toBe(0);
});

describe('a program that is older than the tables', () => {
  /** The settings of a program whose database has a migration of a newer one. */
  async function olderThan(mayRun: boolean): Promise<Record<string, string>> {
    const database = await databaseForTest();
    await sql`insert into kysely_migration values ('9999_newer', now()::text)`.execute(database.db);
    await sql`insert into schema_compatibility values ('9999_newer', ${mayRun})`.execute(database.db);
    const DATA_DIR = await directoryForTest();
    return { DATABASE_URL: database.databaseUrl, DATA_DIR, PORT: '0', ADMIN_PORT: '0' };
  }

  it.each(['auto', 'off'])('serves if the newer migration allows it, with MIGRATE=%s', async (MIGRATE) => {
    const settings = { ...(await olderThan(true)), MIGRATE };
    expect(await (await serveForTest(settings)).end('SIGTERM')).toBe(0);
  });

  it.each(['auto', 'off'])('refuses with exit code 2 if it does not, with MIGRATE=%s', async (MIGRATE) => {
    const settings = { ...(await olderThan(false)), MIGRATE };
    for (const command of [['serve'], ['quarantine', 'list']]) {
      const { code, stderr } = await endOfProgram(settings, ...command);
      expect([code, stderr]).toEqual([2, expect.stringContaining('applied 9999_newer')]);
    }
  });
});
