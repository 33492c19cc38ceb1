import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CopyData } from '../../../src/store/server/postgres-copy.ts';
import { connectionOf } from '../../../src/store/server/postgres-tls.ts';
import { createPool, withClient, type Pool } from '../../../src/store/server/postgres.ts';
import { hasPgbouncer, startPgbouncer } from '../../support/pgbouncer.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();
let pool: Pool;
beforeAll(async () => {
  const settings = { search_path: 'bullmq', statement_timeout: 200 };
  pool = createPool({ connectionString: database.databaseUrl, max: 3, settings }, () => undefined);
});
afterAll(() => pool.end());

const LOOK = `select current_setting('search_path') as path, current_setting('statement_timeout') as timeout`;
const SET = { path: 'bullmq', timeout: '200ms' };

describe('the settings of a pool', () => {
  it('hold in every statement, also in the first of each connection, whatever else runs', async () => {
    const good = Array.from({ length: 40 }, (_, index) =>
      pool.query(`${LOOK} where ${index} = $1 -- vacuum`, [index]),
    );
    const bad = Array.from({ length: 10 }, () => pool.query('select no_such_column'));
    await Promise.allSettled(bad);
    for (const { rows } of await Promise.all(good)) expect(rows).toEqual([SET]);
    for (const failed of bad) await expect(failed).rejects.toMatchObject({ code: '42703' });
    const after = await Promise.all(Array.from({ length: 6 }, () => pool.query(LOOK)));
    for (const { rows } of after) expect(rows).toEqual([SET]);
  });

  it.each(['begin', 'BEGIN', 'start transaction read only'])('hold in a transaction: %s', async (begin) => {
    const client = await pool.connect();
    await client.query(begin);
    expect((await client.query(LOOK)).rows).toEqual([SET]);
    await expect(client.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
    await client.query('rollback');
    client.release();
  });

  it('are sent with the statement and end with it: no session keeps one', async () => {
    const client = await pool.connect();
    await client.query('begin');
    await client.query('commit and chain');
    expect((await client.query(LOOK)).rows).toEqual([{ path: 'public', timeout: '0' }]);
    await client.query('rollback');
    client.release();
  });

  it('do not undo a statement that changes something, and undo one that fails', async () => {
    await pool.query('create table changed (n int check (n > 0))');
    await pool.query('insert into changed values ($1)', [1]);
    await expect(pool.query('insert into changed values ($1)', [0])).rejects.toMatchObject({ code: '23514' });
    expect((await pool.query('select n from changed')).rows).toEqual([{ n: 1 }]);
  });

  it('are given to a connection once if there is no pooler in between', async () => {
    const direct = createPool(
      { connectionString: database.databaseUrl, max: 1, settings: { search_path: 'bullmq' }, isDirect: true },
      () => undefined,
    );
    const client = await direct.connect();
    await client.query('begin');
    await client.query('commit and chain');
    const { rows } = await client.query(`select current_setting('search_path') as path`);
    expect(rows).toEqual([{ path: 'bullmq' }]);
    await client.query('rollback');
    client.release();
    await direct.end();
  });
});

it('survives a session that ends while nothing uses it, and fails the next query', async () => {
  const querying = withClient(database.databaseUrl, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await database.query`select pg_terminate_backend(${rows[0]?.pid})`;
    await ended;
    await client.query('select');
  });
  await expect(querying).rejects.toThrow(/not queryable|closed|terminat/i);
});

it('leaves a connection for replication without settings, as a backup needs it', async () => {
  const systems = await withClient(`${database.adminUrl}?replication=true`, (client) =>
    client.query('IDENTIFY_SYSTEM'),
  );
  expect(systems.rows).toHaveLength(1);
});

it.skipIf(!hasPgbouncer())(
  'a transaction that follows a failed one has an answer, also from a pooler that gives each another session (needs pgbouncer)',
  async () => {
    const [rounds, max] = [300, 6];
    const url = database.adminUrl;
    await using started = new AsyncDisposableStack();
    const settings = { default_pool_size: '3' };
    const pgbouncer = await startPgbouncer({ mode: 'transaction', urls: [url], settings });
    started.defer(() => pgbouncer.stop());
    // Nothing here takes as long, unless an answer never comes.
    const limits = { query_timeout: 10_000, settings: { statement_timeout: '60s' } };
    const pooled = createPool({ connectionString: pgbouncer.through(url), max, ...limits }, () => undefined);
    started.defer(() => pooled.end());
    await pooled.query('create table numbers (number int primary key)');
    await pooled.query('insert into numbers values (1)');
    const failThenRead = async () => {
      const client = await pooled.connect();
      try {
        for (let round = 0; round < rounds; round += 1) {
          const data = ['1\n', '2\n'].map((line) => new CopyData(Buffer.from(line)));
          const copied = client.query('copy numbers from stdin; copy numbers from stdin', data);
          await expect(copied).rejects.toThrow('duplicate key');
          await client.query('begin');
          expect((await client.query('select number from numbers')).rows).toEqual([{ number: 1 }]);
          await client.query('commit');
        }
      } finally {
        client.release();
      }
    };
    await Promise.all(Array.from({ length: max }, failThenRead));
  },
);

describe('sslmode', () => {
  it.each([
    ['user@db.example/x', true, 'prefer'],
    ['user@db.example/x?sslmode=allow', true, 'prefer'],
    ['user@db.example/x?sslmode=require', false, 'require'],
    ['user@db.example/x?sslrootcert=system', false, 'verify-full'],
    ['user@127.0.0.1/x?sslmode=verify-ca', false, 'verify-ca'],
    ['/x?host=/var/run/postgresql&sslmode=require', false, 'disable'],
    ['user@127.0.0.1/x?host=db.example', true, 'prefer'],
    // As pg takes it.
    ['user@127.0.0.1/x', false, null],
    ['user@[::1]/x', false, null],
    ['/x?host=/var/run/postgresql', false, null],
    ['user@db.example/x?ssl=true', false, null],
  ])('of %s is what psql takes it for', (rest, isTlsOptional, mode) => {
    const connection = connectionOf(`postgresql://${rest}`);
    const { searchParams } = new URL(connection.connectionString);
    expect({ ...connection, mode: searchParams.get('sslmode') }).toMatchObject({ isTlsOptional, mode });
    expect(searchParams.get('uselibpqcompat')).toBe(mode && 'true');
    expect(searchParams.get('sslrootcert')).toBeNull();
  });

  it('is left to pg in what is no URL', () => {
    const connectionString = 'host=db.example';
    expect(connectionOf(connectionString)).toEqual({ connectionString, isTlsOptional: false });
  });
});

it.runIf(process.platform === 'linux')(
  'a connection finds out that the machine of its server is gone',
  async () => {
    await withClient(database.databaseUrl, async (client) => {
      await client.query('select');
      const localPort = Number(Reflect.get(client.connection.stream, 'localPort'));
      const port = localPort.toString(16).toUpperCase().padStart(4, '0');
      const sockets = (await readFile('/proc/net/tcp', 'utf8')).split('\n');
      const [, , , , , timer] =
        sockets.map((line) => line.trim().split(/\s+/)).find(([, local]) => local?.endsWith(`:${port}`)) ??
        [];
      // The next thing that happens is a probe (Linux, proc_net_tcp.rst).
      expect(timer).toMatch(/^02:/);
    });
  },
);
