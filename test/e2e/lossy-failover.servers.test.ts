import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRoles } from '../../src/store/server/roles/create-roles.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { hasDebianPostgres, startDebianPostgres } from '../support/debian-postgres.ts';
import { auditRecord } from '../support/deliveries.ts';
import { postDelivery, type Program } from '../support/program.ts';
import { startProxy, through } from '../support/proxy.ts';
import { READER_ROLE, SERVICE_ROLE, withRole } from '../support/roles.ts';
import { waitFor } from '../support/wait-for.ts';
import { directoryForTest, serveForTest } from '../support/for-one-test.ts';

/** A server with asynchronous replicas, each behind a network of its own, and an address that follows a failover. */
async function startPair(count = 1) {
  const primary = await startDebianPostgres();
  onTestFinished(() => primary.stop());
  const databaseUrl = withRole(primary.url, SERVICE_ROLE);
  await createRoles(primary.url, { databaseUrl, readerUrl: withRole(primary.url, READER_ROLE) });
  const replicas = await Promise.all(
    Array.from({ length: count }, async () => {
      const link = await startProxy({ host: '127.0.0.1', port: primary.port });
      onTestFinished(() => link.stop());
      const server = await startDebianPostgres({ replicaOf: link.port });
      onTestFinished(() => server.stop());
      return { link, server };
    }),
  );
  const active = { host: '127.0.0.1', port: primary.port };
  const address = await startProxy(active);
  onTestFinished(() => address.stop());
  const db = openDatabase(through(address, primary.url), () => undefined);
  onTestFinished(() => db.destroy());
  return {
    db,
    superuserUrl: primary.url,
    databaseUrl: through(address, databaseUrl),
    /** The last replica gets nothing more, and the primary does not notice. */
    stall: () => replicas.at(-1)?.link.silence(),
    /** The last replica takes over. */
    async failOver() {
      await primary.kill();
      await replicas.at(-1)?.server.promote();
      active.port = replicas.at(-1)?.server.port ?? 0;
    },
  };
}

/** Sends deliveries that all get a 200. Returns the users in their records. */
async function send(program: Program, users: readonly number[]): Promise<void> {
  const answers = users.map((user) =>
    postDelivery(program, 'AUDIT_LOG_ALL', [auditRecord({ userId: user })]),
  );
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

type Pair = Awaited<ReturnType<typeof startPair>>;

async function storedUsers({ db }: Pair): Promise<number[]> {
  const { rows } = await sql<{ user: string }>`
    select user_id as user from audit_log order by user_id`.execute(db);
  return rows.map(({ user }) => Number(user));
}

/** Deliveries whose rows the spool still waits for. */
async function waiting({ adminUrl }: Program): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^xiq_sink_spool_bytes (\d+)/m.exec(text)?.[1]);
}

const start = async (pair: Pair, usesRedis: boolean, settings: Record<string, string>) =>
  serveForTest({
    DATABASE_URL: pair.databaseUrl,
    ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
    ...settings,
  });

describe.skipIf(!hasDebianPostgres)('a failover to a replica that lags (needs postgresql)', () => {
  const backends = BACKENDS.filter(({ available }) => available);

  it.each(backends)('loses nothing with DURABILITY=strict, $backend', async ({ usesRedis }) => {
    const pair = await startPair();
    const program = await start(pair, usesRedis, { DURABILITY: 'strict' });
    await send(program, range(0, 50));
    await waitFor(async () => (await storedUsers(pair)).length === 50);
    pair.stall();
    await send(program, range(50, 100));
    await waitFor(async () => (await storedUsers(pair)).length === 150);
    await waitFor(async () => (await waiting(program)) === 0);

    await pair.failOver();
    await send(program, range(150, 50));
    await waitFor(async () => (await storedUsers(pair)).length >= 200);
    expect(await storedUsers(pair)).toEqual(range(0, 200));
    const { rows } = await sql<{ n: string }>`select count(*) as n from deliveries`.execute(pair.db);
    expect(rows).toEqual([{ n: '200' }]);
    expect(program.output()).toMatch(/"timeline":2,"before":1,"msg":"another database server took over/);
    await waitFor(async () => (await waiting(program)) === 0);
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('loses nothing when the service was down meanwhile: it looks up all that it kept', async () => {
    const pair = await startPair();
    const directory = await directoryForTest();
    const settings = { DURABILITY: 'strict', DATA_DIR: directory };
    const program = await start(pair, false, settings);
    pair.stall();
    await send(program, range(0, 40));
    await waitFor(async () => (await storedUsers(pair)).length === 40);
    await waitFor(async () => (await waiting(program)) === 0);
    await program.end('SIGKILL');
    await pair.failOver();
    await start(pair, false, settings);
    await waitFor(async () => (await storedUsers(pair).catch(() => [])).length >= 40);
    expect(await storedUsers(pair)).toEqual(range(0, 40));
  });

  it('with STRICT_REPLICAS, deliveries are kept until so many real replicas have their commits', async () => {
    const pair = await startPair(2);
    const directory = await directoryForTest();
    const settings = { DURABILITY: 'strict', STRICT_REPLICAS: '2', DATA_DIR: directory };
    const program = await start(pair, false, settings);
    const segments = async () =>
      (await readdir(path.join(directory, 'spool'), { recursive: true })).filter((name) =>
        name.endsWith('.segment'),
      );
    /** Resolves once these are stored, the spool knows it, and it has looked at the log since the last ones. */
    const store = async (from: number, count: number) => {
      await send(program, range(from, count));
      await waitFor(async () => (await storedUsers(pair)).length === from + count);
      await waitFor(async () => (await waiting(program)) === 0);
    };
    const untilReplicated = (replicas: number) =>
      waitFor(async () => {
        const { rows } = await sql`
          select from pg_stat_replication where flush_lsn >= pg_current_wal_insert_lsn()`.execute(pair.db);
        return rows.length === replicas;
      });

    // Without the right to see the replicas, only the time counts.
    await store(0, 20);
    await untilReplicated(2);
    await store(20, 5);
    const [first = 'none'] = await segments();
    const administrator = openDatabase(pair.superuserUrl, () => undefined);
    onTestFinished(() => administrator.destroy());
    await sql`grant pg_read_all_stats to xiq_sink`.execute(administrator);
    await waitFor(async () => (await segments()).length === 0);
    expect(first).toMatch(/segment$/);

    pair.stall();
    await store(25, 50);
    await untilReplicated(1);
    await store(75, 5);
    expect((await segments()).length).toBeGreaterThan(0);
    await pair.failOver();
    await send(program, range(80, 5));
    await waitFor(async () => (await storedUsers(pair)).length >= 85);
    expect(await storedUsers(pair)).toEqual(range(0, 85));
  });
});
