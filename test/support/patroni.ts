import { execFile } from 'node:child_process';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startProxy, type Proxy } from './proxy.ts';
import { readDeployFile } from './deploy-file.ts';
import { freePort } from './free-port.ts';
import { temporaryDirectory } from './program.ts';
import { startServerProcess, unprivileged, type ServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

interface PatroniOptions {
  /** Whether a commit waits for the replica. */
  readonly synchronous: boolean;
  /** A replica that is further behind is not promoted. */
  readonly maximumLagBytes?: number;
}

/** Two nodes of Postgres 15 under Patroni, etcd, and HAProxy with Patroni's check before them, as in `deploy/`. */
export interface PatroniCluster extends AsyncDisposable {
  /** Connection string of the superuser to whichever node is the primary, by HAProxy. */
  readonly databaseUrl: string;
  /** Replication stops as behind a pulled cable; clients are not affected. `heal` lets it go on. */
  stallReplication(): void;
  healReplication(): void;
  /** `kill -9` of Postgres on the primary; its Patroni lives. Resolves once another node is the primary. */
  crashPrimary(): Promise<void>;
  /** `kill -9` of Postgres and Patroni on the primary, as a machine that lost power. Resolves as `crashPrimary`. */
  killPrimaryNode(): Promise<void>;
  /** `patronictl switchover`. Resolves as `crashPrimary`. */
  switchOver(): Promise<void>;
}

interface Node {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly directory: string;
  readonly configFile: string;
  /** The network between the nodes. */
  readonly replication: Proxy;
  readonly process: ServerProcess;
}

const run = promisify(execFile);

const PASSWORD = 'a-password-of-the-tests';

/** A failover begins when the leader key ends; what follows takes longer on a busy machine. */
const FAILOVER_TIMEOUT_MS = 60_000;

/** Starts the cluster. Resolves once both nodes run, and the replica streams. */
export async function startPatroni({
  synchronous,
  maximumLagBytes = 1_048_576,
}: PatroniOptions): Promise<PatroniCluster> {
  await using stack = new AsyncDisposableStack();
  const directory = await temporaryDirectory();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const etcdPort = await startEtcd(path.join(directory, 'etcd'), stack);
  const ports = { pg1: await freePort(), pg2: await freePort() };
  const restPorts = { pg1: await freePort(), pg2: await freePort() };
  const nodes: Node[] = [];
  for (const name of ['pg1', 'pg2'] as const) {
    const home = path.join(directory, name);
    await mkdir(home, { mode: 0o700 });
    await giveToServer(home);
    const replication = await startProxy({ host: '127.0.0.1', port: ports[name] });
    stack.defer(() => replication.stop());
    const config = await readDeployFile('patroni.yml', {
      'name: pg1': `name: ${name}`,
      '10.0.0.31:2379': `127.0.0.1:${etcdPort}`,
      '10.0.0.21:8008': `127.0.0.1:${restPorts[name]}`,
      // Other nodes reach this one by the network that can be cut.
      'connect_address: 10.0.0.21:5432': `connect_address: 127.0.0.1:${replication.port}`,
      'listen: 10.0.0.21:5432': `listen: 127.0.0.1:${ports[name]}`,
      '/var/lib/postgresql/15/xiq-sink': path.join(home, 'data'),
      '/var/lib/postgresql/xiq-sink.pgpass': path.join(home, 'pgpass'),
      '10.0.0.0/24': '127.0.0.1/32',
      'synchronous_mode: true': `synchronous_mode: ${synchronous}`,
      'maximum_lag_on_failover: 1048576': `maximum_lag_on_failover: ${maximumLagBytes}`,
      // Only to wait less for a node that is gone.
      'ttl: 20': 'ttl: 8',
      'max_connections: 200': `max_connections: 200\n        unix_socket_directories: ''`,
      'password: PASSWORD': `password: ${PASSWORD}`,
    });
    const configFile = path.join(home, 'patroni.yml');
    await writeFile(configFile, config);
    const process = startServerProcess('patroni', [configFile], { ...unprivileged, cwd: home });
    const node = {
      name,
      port: ports[name],
      restPort: restPorts[name],
      directory: home,
      configFile,
      replication,
      process,
    };
    nodes.push(node);
    stack.defer(() => stopNode(node));
    // The first to start makes the cluster, the second copies it.
    const isUp = () => {
      if (node.process.hasEnded()) throw new Error(`Patroni of ${name} has ended`);
      return isRunning(node);
    };
    await waitUntil(isUp, `Patroni node ${name}`, () => node.process.output());
  }
  const proxyPort = await startHaproxy(directory, ports, restPorts, stack);
  const databaseUrl = `postgresql://postgres:${PASSWORD}@127.0.0.1:${proxyPort}/postgres`;
  const outputs = () => nodes.map(({ process }) => process.output().slice(-3_000)).join('\n---\n');

  const primaryNode = async () => {
    for (const node of nodes) if (await answers(node, '/primary')) return node;
    return undefined;
  };
  const isHealthy = async () => {
    const primary = await primaryNode();
    const others = nodes.filter((node) => node !== primary);
    return primary !== undefined && (await find(others, (node) => isStreaming(node, synchronous)));
  };
  await waitUntil(isHealthy, 'a replica that streams', outputs);
  await waitUntil(() => leadsToPrimary(databaseUrl), 'way through HAProxy', outputs);

  /** Does the harm to the primary, and waits for the next one. */
  const failOver = async (harm: (node: Node) => Promise<void>) => {
    const before = await primaryNode();
    if (before === undefined) throw new Error('the cluster has no primary');
    await harm(before);
    const isDone = async () => {
      const now = await primaryNode();
      return now !== undefined && now !== before;
    };
    await waitUntil(isDone, 'another primary', outputs);
  };

  const owned = stack.move();
  return {
    databaseUrl,
    stallReplication: () => nodes.forEach(({ replication }) => replication.stall()),
    healReplication: () => nodes.forEach(({ replication }) => replication.heal()),
    crashPrimary: () => failOver((node) => killPostgres(node)),
    killPrimaryNode: () =>
      failOver(async (node) => {
        await node.process.end('SIGKILL');
        await killPostgres(node);
      }),
    switchOver: () =>
      failOver(async ({ name, configFile }) => {
        await run('patronictl', ['-c', configFile, 'switchover', '--master', name, '--force']);
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startEtcd(directory: string, stack: AsyncDisposableStack): Promise<number> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const etcd = startServerProcess('etcd', [
    `--data-dir=${directory}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ]);
  stack.defer(() => etcd.end('SIGKILL'));
  await waitUntil(() => isOk(`${client}/health`), 'etcd', etcd.output);
  return port;
}

interface NodePorts {
  readonly pg1: number;
  readonly pg2: number;
}

async function startHaproxy(
  directory: string,
  ports: NodePorts,
  restPorts: NodePorts,
  stack: AsyncDisposableStack,
): Promise<number> {
  const port = await freePort();
  const file = path.join(directory, 'haproxy.cfg');
  const config = await readDeployFile('haproxy-postgres.cfg', {
    '10.0.0.20:5432': `127.0.0.1:${port}`,
    '10.0.0.21:5432 check port 8008': `127.0.0.1:${ports.pg1} check port ${restPorts.pg1}`,
    '10.0.0.22:5432 check port 8008': `127.0.0.1:${ports.pg2} check port ${restPorts.pg2}`,
  });
  await writeFile(file, config);
  const haproxy = startServerProcess('haproxy', ['-db', '-f', file]);
  stack.defer(() => haproxy.end('SIGKILL'));
  return port;
}

/** At once: its files are thrown away. */
async function stopNode({ process, directory }: Node): Promise<void> {
  await process.end('SIGKILL');
  const all = await postgresProcesses(directory);
  // The postmaster ends its processes and removes its shared memory.
  for (const pid of all.slice(0, 1)) send(pid, 'SIGQUIT');
  await waitFor(() => !all.some((pid) => send(pid, 0)));
}

async function killPostgres({ directory }: Node): Promise<void> {
  const all = await postgresProcesses(directory);
  for (const pid of all) send(pid, 'SIGKILL');
  await waitFor(() => !all.some((pid) => send(pid, 0)));
}

/** The postmaster, then all processes that it started. */
async function postgresProcesses(directory: string): Promise<number[]> {
  const text = await readFile(path.join(directory, 'data', 'postmaster.pid'), 'utf8').catch(() => '');
  const postmaster = Number(text.split('\n')[0]);
  if (!(postmaster > 0)) return [];
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const children = stdout.split('\n').flatMap((line) => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number);
    return parent === postmaster && pid !== undefined ? [pid] : [];
  });
  return send(postmaster, 0) ? [postmaster, ...children] : children;
}

/** Whether there was a process to take the signal. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

const isRunning = async (node: Node) => (await answers(node, '/primary')) || answers(node, '/replica');

/** Whether this node is a replica that a failover may promote. */
const isStreaming = (node: Node, synchronous: boolean) =>
  answers(node, synchronous ? '/synchronous' : '/replica?lag=1MB');

/** Whether Patroni's REST API answers this with 200. */
const answers = ({ restPort }: Node, question: string) => isOk(`http://127.0.0.1:${restPort}${question}`);

/** Whether HAProxy knows the replica by now: before its first checks it sends every other connection there. */
async function leadsToPrimary(databaseUrl: string): Promise<boolean> {
  for (let connection = 0; connection < 4; connection += 1) {
    const client = new Client({ connectionString: databaseUrl });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rowCount } = await client.query('select where not pg_is_in_recovery()');
      if (rowCount === 0) return false;
    } catch {
      return false;
    } finally {
      await client.end();
    }
  }
  return true;
}

async function isOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    return false;
  }
}

async function find<T>(items: readonly T[], isIt: (item: T) => Promise<boolean>): Promise<T | undefined> {
  for (const item of items) if (await isIt(item)) return item;
  return undefined;
}

/** Waits, and shows what the servers printed if it was in vain. */
async function waitUntil(condition: () => unknown, what: string, output: () => string): Promise<void> {
  try {
    await waitFor(condition, FAILOVER_TIMEOUT_MS);
  } catch (error) {
    throw new Error(`no ${what} within ${FAILOVER_TIMEOUT_MS} ms: ${output()}`, { cause: error });
  }
}

async function giveToServer(directory: string): Promise<void> {
  const { uid, gid } = unprivileged;
  if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid);
}
