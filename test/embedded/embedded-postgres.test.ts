import { access, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { Client } from 'pg';
import { temporaryDirectory } from '../support/program.ts';

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const portOf = ({ databaseUrl }: { databaseUrl: string }) => Number(new URL(databaseUrl).port);

it('keeps its port from start to start, unless another program has taken it', async () => {
  const first = await startEmbeddedPostgres(directory);
  expect(first.started).toBe(true);
  await first.stop();
  const second = await startEmbeddedPostgres(directory);
  expect(portOf(second)).toBe(portOf(first));
  await second.stop();

  const thief = createServer().listen(portOf(first), '127.0.0.1');
  await once(thief, 'listening');
  try {
    const third = await startEmbeddedPostgres(directory);
    expect(portOf(third)).not.toBe(portOf(first));
    await third.stop();
  } finally {
    thief.close();
  }
});

it('is taken over where it runs, locked by one at a time, and stops at once when told to', async () => {
  const server = await startEmbeddedPostgres(directory);
  const other = await startEmbeddedPostgres(directory);
  expect(other.started).toBe(false);
  const lock = await server.lock();
  expect(lock).toBeDefined();
  expect(await other.lock()).toBeUndefined();
  await lock?.release();
  const next = await other.lock();
  expect(next).toBeDefined();
  await next?.release();
  await other.stop('immediate');
  await expect(access(path.join(directory, 'postgres', 'cluster', 'postmaster.pid'))).rejects.toThrow(
    'ENOENT',
  );
});

it('is locked out of reach of roles that may log in to the events', async () => {
  const server = await startEmbeddedPostgres(directory);
  const owner = new Client({ connectionString: server.databaseUrl });
  await owner.connect();
  await owner.query("create role probe login password 'probe'");
  const url = new URL(server.databaseUrl);
  url.username = 'probe';
  url.password = 'probe';
  const probe = new Client({ connectionString: url.href });
  await probe.connect();
  await probe.query(
    'select pg_advisory_lock(key) from unnest(array[$1::bigint, $2, $3]) as key',
    [0x78697169, 0x78697170, 0x78697173],
  );
  url.pathname = '/postgres';
  const elsewhere = new Client({ connectionString: url.href });
  await expect(elsewhere.connect()).rejects.toThrow('permission denied for database "postgres"');
  const lock = await server.lock();
  expect(lock).toBeDefined();
  await lock?.release();
  await Promise.all([probe.end(), owner.end()]);
  await server.stop('immediate');
});
