import { execFile } from 'node:child_process';
import { access, chmod, chown, mkdir, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { Client } from 'pg';
import { useDirectory } from '../support/use-directory.ts';

const directory = useDirectory();

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

/** A user other than root. */
const OTHER_USER = 65_534;
const users = process.getuid?.() === 0 ? [0, OTHER_USER] : [process.getuid?.() ?? 0];

describe.each(users)('started by the user %i', (uid) => {
  const dataDir = () => path.join(directory, `of-${uid}`, 'data');

  /** Starts and stops the server, and prints the user that it runs as. */
  async function startAndStop(as = uid): Promise<number> {
    const script = `
      import { stat } from 'node:fs/promises';
      import { startEmbeddedPostgres } from './src/embedded/embedded-postgres.ts';
      const server = await startEmbeddedPostgres(process.argv[1]);
      const { uid } = await stat(process.argv[1] + '/postgres/cluster/postmaster.pid');
      await server.stop();
      console.log(uid);`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script, dataDir()],
      as === process.getuid?.() ? {} : { uid: as, gid: as },
    );
    return Number(stdout);
  }

  const modeOf = async (...names: string[]) =>
    ((await stat(path.join(dataDir(), ...names))).mode & 0o777).toString(8);

  it('has a data directory that others cannot list, and a log that they cannot read', async () => {
    await mkdir(path.dirname(dataDir()));
    await chown(path.dirname(dataDir()), uid, process.getgid?.() ?? 0);
    const server = await startAndStop();
    // In a user namespace, root is another user to Postgres only.
    expect(server).toBe(uid);
    expect(await modeOf()).toBe('700');
    expect(await modeOf('postgres')).toBe('700');
    expect(await modeOf('postgres', 'cluster')).toBe('700');
    expect(await modeOf('postgres', 'server.log')).toBe('600');
    expect(await modeOf('postgres', 'credentials.json')).toBe('600');
  });

  it('tightens what an earlier version left, but not the directory that the settings name', async () => {
    await chmod(dataDir(), 0o755);
    await chmod(path.join(dataDir(), 'postgres'), 0o755);
    await chmod(path.join(dataDir(), 'postgres', 'server.log'), 0o644);
    await startAndStop();
    expect(await modeOf()).toBe('755');
    expect(await modeOf('postgres')).toBe('711');
    expect(await modeOf('postgres', 'server.log')).toBe('600');
  });

  it('is started by root as the user that it belongs to', async () => {
    const owner = (await stat(path.join(dataDir(), 'postgres', 'cluster'))).uid;
    await chmod(dataDir(), 0o700);
    expect(await startAndStop(process.getuid?.())).toBe(owner);
  });
});

it('is locked out of reach of the reading role', async () => {
  const server = await startEmbeddedPostgres(directory);
  const url = new URL(server.readerUrl);
  const reader = new Client({ connectionString: url.href });
  await reader.connect();
  await expect(reader.query('select pg_advisory_lock($1)', [0x78697169])).rejects.toThrow(
    'permission denied',
  );
  url.pathname = '/postgres';
  const elsewhere = new Client({ connectionString: url.href });
  await expect(elsewhere.connect()).rejects.toThrow('permission denied for database "postgres"');
  const lock = await server.lock();
  expect(lock).toBeDefined();
  await lock?.release();
  await reader.end();
  await server.stop('immediate');
});
