import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createDataDirectory, openCluster, startServer, stopServer } from '../../src/embedded/cluster.ts';
import { bootstrapUrl, keepCredentials } from '../../src/embedded/credentials.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Part } from './part.ts';

export interface PostgresPart extends Part {
  readonly port: number;
  /** Connection string of the owner, to this port or to the one of a proxy before it. */
  url(port?: number): string;
  /** Whether its postmaster lives. */
  runs(): Promise<boolean>;
}

/** Few enough that a fault can hold them all; the programs of a set-up take up to 20. */
const MAX_CONNECTIONS = 40;

/** A Postgres with the durability that it ships with. Not started yet. */
export async function createPostgresPart(
  directory: string,
  maxConnections = MAX_CONNECTIONS,
): Promise<PostgresPart> {
  const cluster = await openCluster(directory);
  const credentials = await keepCredentials(cluster.home);
  await createDataDirectory(cluster, credentials.bootstrapPassword);
  const options = [
    '-c listen_addresses=127.0.0.1',
    '-c unix_socket_directories=',
    `-c max_connections=${maxConnections}`,
    `-p ${credentials.port}`,
  ];
  const postmaster = () => readPostmaster(path.join(cluster.directory, 'postmaster.pid'));
  /** The postmaster first: it then starts no further process while the others are hit. */
  const hitAll = async (signal: NodeJS.Signals) => {
    const pid = await postmaster();
    if (pid === undefined) return [];
    send(pid, signal);
    const children = await childrenOf(pid);
    for (const child of children) send(child, signal);
    return [pid, ...children];
  };
  const runs = async () => {
    const pid = await postmaster();
    return pid !== undefined && send(pid, 0);
  };
  return {
    port: credentials.port,
    runs,
    url: (port = credentials.port) => bootstrapUrl({ ...credentials, port }, 'postgres'),
    start: () => startServer(cluster, options, 60),
    async kill() {
      const all = await hitAll('SIGSTOP');
      for (const pid of all) send(pid, 'SIGKILL');
      await waitFor(() => !all.some((pid) => send(pid, 0)));
    },
    freeze: async () => void (await hitAll('SIGSTOP')),
    thaw: async () => void (await hitAll('SIGCONT')),
    async stop() {
      await hitAll('SIGCONT');
      if (await runs()) await stopServer(cluster);
    },
  };
}

async function readPostmaster(pidFile: string): Promise<number | undefined> {
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  return pid > 0 ? pid : undefined;
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  return stdout.split('\n').flatMap((line) => {
    const [pid = 0, ppid] = line.trim().split(/\s+/).map(Number);
    return ppid === parent ? [pid] : [];
  });
}

/** Whether there was a process to take the signal. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
