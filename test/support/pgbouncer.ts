import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { startServerProcess, unprivileged, untilPrinted } from './server-process.ts';

/** A real pgbouncer in front of a Postgres server, for any of its databases. */
export interface TestPgbouncer {
  readonly port: number;
  /** The same connection string, through the pooler. */
  through(databaseUrl: string): string;
  /** Runs a command of its administration console, such as `pause` or `show pools`. */
  command(text: string): Promise<Record<string, unknown>[]>;
  signal(signal: NodeJS.Signals): void;
  /** What it has logged. */
  output(): string;
  stop(): Promise<void>;
}

interface PgbouncerOptions {
  /** When a client gives its connection to the server back. */
  readonly mode: 'session' | 'transaction';
  /** Connection strings of every role that connects, each with its password, all of the same server. */
  readonly urls: readonly string[];
  /** Further lines of the section [pgbouncer], such as `default_pool_size: '1'`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export const hasPgbouncer = () => spawnSync('pgbouncer', ['--version']).status === 0;

/** The role of the administration console. */
const ADMIN = { user: 'pooler', password: 'password-of-pooler' };

/** Starts pgbouncer on a free port, never as root, which it refuses. Only the settings named here differ from its defaults. */
export async function startPgbouncer({
  mode,
  urls,
  settings = {},
}: PgbouncerOptions): Promise<TestPgbouncer> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-pgbouncer-'));
  await chmod(directory, 0o755);
  const port = await freePort();
  const servers = urls.map((url) => new Client({ connectionString: url }));
  const [first] = servers;
  if (first === undefined) throw new Error('pgbouncer needs a server');
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: path.join(directory, 'users.txt'),
    admin_users: ADMIN.user,
    pool_mode: mode,
    ...settings,
  };
  const users = [ADMIN, ...servers].map(({ user, password }) => `"${user}" "${String(password)}"\n`);
  await writeFile(lines.auth_file, users.join(''));
  const file = path.join(directory, 'pgbouncer.ini');
  const section = Object.entries(lines).map(([name, value]) => `${name} = ${value}\n`);
  await writeFile(
    file,
    `[databases]\n* = host=${first.host} port=${first.port}\n[pgbouncer]\n${section.join('')}`,
  );

  const server = startServerProcess('pgbouncer', [file], unprivileged);
  await untilPrinted(server, 'process up');
  return {
    port,
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    async command(text) {
      const console = new Client({ ...ADMIN, host: '127.0.0.1', port, database: 'pgbouncer' });
      await console.connect();
      try {
        return (await console.query<Record<string, unknown>>(text)).rows;
      } finally {
        await console.end();
      }
    },
    signal: server.signal,
    output: server.output,
    async stop() {
      // Not its orderly end, which waits for its clients.
      await server.end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}
