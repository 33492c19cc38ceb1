import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  checkDatabase,
  inSavepoint,
  openKept,
  openLimited,
  readServerFacts,
  readServerTime,
  ReadOnlyError,
  withDirectConnection,
  withinTime,
  type Db,
} from '../../../src/store/server/database.ts';
import { createPool, isPooled, withClient } from '../../../src/store/server/postgres.ts';
import { tcpServer } from '../../support/tcp-server.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
const ignore = () => undefined;
const LIMITS = { statementMs: 5_000, silenceMs: 300 };

const one = sql<{ n: number }>`select 1 as n`;
const isReadOnly = (db: Db) => checkDatabase(db).then(ignore, (error: unknown) => error);

describe('a database', () => {
  it('is given as long as a question may take, and is not changed by it', async () => {
    expect(await withinTime(test.service, 5_000, (trx) => one.execute(trx))).toMatchObject({
      rows: [{ n: 1 }],
    });
    const sleeping = withinTime(test.service, 20, (trx) => sql`select pg_sleep(5)`.execute(trx));
    expect(await sleeping).toBeUndefined();
    const writing = withinTime(test.service, 5_000, (trx) => trx.deleteFrom('processes').execute());
    await expect(writing).rejects.toThrow(/read-only transaction/);
  });

  it('goes on in a transaction after work that failed, without its changes', async () => {
    const names = await test.service.transaction().execute(async (trx) => {
      const insert = (name: string) => trx.insertInto('locks').values({ name }).execute();
      await inSavepoint(trx, () => insert('kept'));
      const failing = inSavepoint(trx, async () => {
        await insert('undone');
        await insert('kept');
      });
      await expect(failing).rejects.toMatchObject({ code: '23505' });
      return trx.selectFrom('locks').select('name').where('name', 'in', ['kept', 'undone']).execute();
    });
    expect(names).toEqual([{ name: 'kept' }]);
  });

  it('that accepts no changes is told from one that does', async () => {
    expect(await isReadOnly(test.service)).toBeUndefined();
    expect(await readServerFacts(test.service)).toMatchObject({ isReadOnly: false });
    await test.service.connection().execute(async (connection) => {
      await sql`set default_transaction_read_only = on`.execute(connection);
      expect(await isReadOnly(connection)).toBeInstanceOf(ReadOnlyError);
      expect(await readServerFacts(connection)).toMatchObject({ isReadOnly: true });
      await sql`reset default_transaction_read_only`.execute(connection);
    });
    const { majorVersion, version } = await readServerFacts(test.service);
    expect(version).toMatch(new RegExp(`^${majorVersion}\\b`));
    expect(Math.abs((await readServerTime(test.service)) - Date.now())).toBeLessThan(60_000);
  });

  it('that sends nothing is given up, and so is a statement at its limit', async () => {
    const limited = openLimited('console', test.databaseUrl, ignore, { ...LIMITS, lockMs: 100 });
    onTestFinished(() => limited.destroy());
    await expect(sql`select pg_sleep(20)`.execute(limited)).rejects.toThrow(
      /the database sent nothing for 300 ms/,
    );
    const { rows } = await sql`select current_setting('statement_timeout') as statement,
      current_setting('lock_timeout') as lock`.execute(limited);
    expect(rows).toEqual([{ statement: '5s', lock: '100ms' }]);
  });

  it('is reached past a pooler where there is a way, and keeps what its sessions are given', async () => {
    expect(await withDirectConnection(undefined, test.service, async (db) => db)).toBe(test.service);
    const direct = await withDirectConnection(test.databaseUrl, test.service, async (db) => {
      expect((await one.execute(db)).rows).toHaveLength(1);
      return db;
    });
    expect(direct).not.toBe(test.service);
    const kept = openKept(
      test.databaseUrl,
      (client) => void client.query('create temporary table mine ()'),
      'log',
    );
    onTestFinished(() => kept.destroy());
    expect((await sql`select from mine`.execute(kept)).rows).toEqual([]);
  });
});

describe('a server without TLS', () => {
  const preferring = () => `${test.databaseUrl}?sslmode=prefer`;

  it('is used without where that is allowed, by a client and by a pool', async () => {
    expect(await isPooled(preferring())).toBe(false);
    const pool = createPool({ connectionString: preferring(), max: 1 }, ignore);
    onTestFinished(() => pool.end());
    expect((await pool.query('select')).rowCount).toBe(1);
    const required = withClient(`${test.databaseUrl}?sslmode=require`, async () => undefined);
    await expect(required).rejects.toThrow(/does not support SSL/);
  });

  it.each([
    ['closes the connection', (port: number) => `127.0.0.1:${port}`],
    ['is not there', () => '127.0.0.1:1'],
  ])('that %s is away, with the reason', async (_what, host) => {
    const { port } = await tcpServer((socket) => void socket.destroy());
    const asking = withClient(`postgresql://x@${host(port)}/x?sslmode=prefer`, async () => undefined);
    await expect(asking).rejects.toThrow(/terminat|ECONN|hang up|disconnected|closed/i);
  });
});
