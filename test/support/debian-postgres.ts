import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

/** Debian 12's Postgres: older than the embedded one. */
const BINARIES = '/usr/lib/postgresql/15/bin';

export const hasDebianPostgres = () => existsSync(path.join(BINARIES, 'postgres'));

/** A server of Debian's Postgres, with nothing in it. */
export interface DebianPostgres {
  /** Connection string of the superuser. */
  readonly adminUrl: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a server on a free port. As root, it runs as the user `postgres`. */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-debian-'));
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres']).toString());
  const user = process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
  const passwordFile = path.join(directory, 'password');
  await writeFile(passwordFile, 'password-of-postgres');
  await chmod(directory, 0o700);
  if (user.uid !== undefined)
    for (const file of [directory, passwordFile]) await chown(file, user.uid, user.gid);
  const data = path.join(directory, 'data');
  execFileSync(
    path.join(BINARIES, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--no-sync',
    ],
    { cwd: '/', stdio: 'ignore', ...user },
  );
  const port = await freePort();
  const child = spawn(
    path.join(BINARIES, 'postgres'),
    ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    { cwd: '/', stdio: 'ignore', ...user },
  );
  const exited = once(child, 'exit');
  const adminUrl = `postgresql://postgres:password-of-postgres@127.0.0.1:${port}/postgres`;
  await waitFor(async () => {
    const client = new Client({ connectionString: adminUrl });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  });
  return {
    adminUrl,
    port,
    async stop() {
      child.kill('SIGINT');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
