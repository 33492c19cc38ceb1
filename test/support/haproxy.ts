import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

/** A program behind the proxy, on this machine. */
interface Backend {
  readonly name: string;
  readonly port: number;
}

/** Figures of one backend, as HAProxy counts them. */
interface BackendFigures {
  /** `UP`, `DOWN`, `NOLB` and the like. */
  readonly status: string;
  /** Answers by class, and connections and answers that failed. */
  readonly ok: number;
  readonly failed: number;
  /** Requests sent again to it, or from it to another one. */
  readonly retried: number;
}

/** Debian's HAProxy in front of several of our programs. */
export interface Haproxy {
  readonly url: string;
  figures(name: string): Promise<BackendFigures>;
  /** Resolves once the health check has found the backend in this state, such as `UP` or `DOWN`. */
  untilStatus(name: string, status: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts HAProxy as the runbook configures it: it asks each program's /readyz every 500 ms, keeps connections to them
 * open, and sends a request again to another one if the connection failed or ended without an answer. `lines` are added
 * to the backend.
 */
export async function startHaproxy(
  backends: readonly Backend[],
  lines: readonly string[] = [],
): Promise<Haproxy> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-haproxy-'));
  const port = await freePort();
  const control = path.join(directory, 'control');
  const file = path.join(directory, 'haproxy.cfg');
  await writeFile(file, configuration(port, control, backends, lines));
  const child = spawn('/usr/sbin/haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const exited = once(child, 'exit');
  const figures = async (name: string) => {
    const found = (await readFigures(control)).get(name);
    if (found === undefined) throw new Error(`HAProxy has no backend ${name}`);
    return found;
  };
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended with ${child.exitCode}: ${output}`);
    return readFigures(control).then(
      () => true,
      () => false,
    );
  });
  return {
    url: `http://127.0.0.1:${port}`,
    figures,
    async untilStatus(name, status) {
      await waitFor(async () => (await figures(name)).status === status);
    },
    async stop() {
      child.kill('SIGKILL');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function configuration(
  port: number,
  control: string,
  backends: readonly Backend[],
  lines: readonly string[],
): string {
  return `
global
  stats socket ${control} mode 600
defaults
  mode http
  timeout connect 2s
  timeout client 70s
  timeout server 35s
  timeout http-keep-alive 60s
frontend deliveries
  bind 127.0.0.1:${port}
  default_backend sinks
backend sinks
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  option redispatch 1
  retries 3
  retry-on conn-failure empty-response response-timeout
  default-server check inter 500ms fastinter 200ms downinter 200ms fall 1 rise 1
${[...lines, ...backends.map(({ name, port: at }) => `server ${name} 127.0.0.1:${at}`)]
  .map((line) => `  ${line}\n`)
  .join('')}`;
}

/** The answer of HAProxy's runtime API to `show stat`: a table with one line for each backend. */
async function readFigures(control: string): Promise<ReadonlyMap<string, BackendFigures>> {
  const socket = connect(control);
  socket.end('show stat\n');
  const [head = '', ...rows] = (await text(socket)).trim().split('\n');
  const columns = head.replace('# ', '').split(',');
  const named = rows.map((row) => {
    const cells = row.split(',');
    return (column: string) => cells[columns.indexOf(column)] ?? '';
  });
  return new Map(
    named
      .filter((cell) => cell('pxname') === 'sinks')
      .map((cell) => [
        cell('svname'),
        {
          status: cell('status').split(' ')[0] ?? '',
          ok: Number(cell('hrsp_2xx')),
          failed: Number(cell('econ')) + Number(cell('eresp')) + Number(cell('hrsp_5xx')),
          retried: Number(cell('wretr')) + Number(cell('wredis')),
        },
      ]),
  );
}
