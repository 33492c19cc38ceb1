import { access, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
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
