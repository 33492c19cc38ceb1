import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { query } from './query.ts';
import { freePort } from './free-port.ts';
import { startServerProcess, unprivileged as runAs, untilPrinted } from './server-process.ts';

/** A server of Debian's Postgres, with an authority over its settings that the embedded one does not give. */
export interface DebianPostgres {
  /** Connection string of the superuser. */
  readonly url: string;
  readonly port: number;
  /** Ends it at once, with all its processes. */
  kill(): Promise<void>;
  /** Makes a replica the server that writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

interface ServerOptions {
  /** Settings of the server, such as `ssl: 'on'`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Files for its data directory, by name, such as `server.key`. */
  readonly files?: Readonly<Record<string, string>>;
  /** The port of a server to become a replica of. */
  readonly replicaOf?: number;
  /** For the server's processes. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder with a base backup of a server, which becomes the data directory. */
  readonly backup?: string;
}

const PASSWORD = 'password-of-postgres';

const run = promisify(execFile);

const [version] = existsSync('/usr/lib/postgresql')
  ? readdirSync('/usr/lib/postgresql').toSorted((one, other) => Number(other) - Number(one))
  : [];
/** The path of one of its programs, such as psql. */
export const debianProgram = (name: string) => `/usr/lib/postgresql/${version}/bin/${name}`;

export const hasDebianPostgres = version !== undefined && existsSync(debianProgram('initdb'));

const connectionTo = (port: number) => `host=127.0.0.1 port=${port} user=postgres password=${PASSWORD}`;

/** Takes a base backup of the server on a port. */
export async function backUpServer(
  port: number,
  folder: string,
  options: readonly string[] = [],
): Promise<void> {
  const args = ['-D', folder, '-d', connectionTo(port), '-X', 'stream', '-c', 'fast', ...options];
  await run(debianProgram('pg_basebackup'), args, runAs);
}

/** Creates a server, or a replica of one, and starts it on a free port. */
export async function startDebianPostgres({
  settings = {},
  files = {},
  environment = {},
  replicaOf,
  backup,
}: ServerOptions = {}): Promise<DebianPostgres> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-debian-'));
  const data = path.join(home, 'data');
  const give = async (file: string, mode: number) => {
    await chmod(file, mode);
    const { uid, gid } = runAs;
    if (uid !== undefined && gid !== undefined) await chown(file, uid, gid);
  };
  await give(home, 0o700);
  const port = await freePort();
  if (backup !== undefined) await rename(backup, data);
  else if (replicaOf === undefined) {
    const passwordFile = path.join(home, 'password');
    await writeFile(passwordFile, PASSWORD);
    await give(passwordFile, 0o600);
    const access = [`--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
    const made = ['-D', data, '-U', 'postgres', ...access, '--encoding=UTF8', '--no-sync'];
    await run(debianProgram('initdb'), made, runAs);
  } else {
    await backUpServer(replicaOf, data, ['-R']);
  }
  for (const [name, content] of Object.entries(files)) {
    await writeFile(path.join(data, name), content);
    await give(path.join(data, name), 0o600);
  }
  const given = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    wal_level: 'replica',
    ...(replicaOf === undefined ? {} : { primary_conninfo: connectionTo(replicaOf) }),
    ...settings,
  };
  const args = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const env = { ...process.env, ...environment };
  const server = startServerProcess(debianProgram('postgres'), ['-D', data, ...args], { ...runAs, env });
  await untilPrinted(server, 'ready to accept');
  const url = `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  return {
    url,
    port,
    async kill() {
      const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(server.pid)]);
      const ended = server.end('SIGKILL');
      for (const pid of stdout.split('\n').map(Number).filter(Boolean)) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // Gone with the server.
        }
      }
      await ended;
    },
    async promote() {
      await query(url, 'select pg_promote()');
    },
    async stop() {
      await server.end('SIGQUIT');
      await rm(home, { recursive: true, force: true });
    },
  };
}
