import { spawn, spawnSync, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { waitFor } from './wait-for.ts';

/** A server of Debian, or a command of the program that runs on, as a child process. */
export interface ServerProcess {
  readonly pid: number;
  readonly output: () => string;
  readonly hasEnded: () => boolean;
  /** Null while it runs, and if a signal has ended it. */
  readonly exitCode: () => number | null;
  /** SIGSTOP makes it hang, SIGCONT lets it go on. */
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Sends the signal and waits for the end, also of one that hangs. Does nothing if it has ended. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Debian's user for Postgres, for servers that refuse to run as root; empty unless this program is root. */
export const unprivileged: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};

function idOf(flag: string): number {
  return Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
}

/** Starts a server in the foreground. It does not wait until the server answers. */
export function startServerProcess(
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'> = {},
): ServerProcess {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  child.on('error', (error) => (output += String(error)));
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    output: () => output,
    hasEnded,
    exitCode: () => child.exitCode,
    signal: (signal) => void child.kill(signal),
    async end(signal = 'SIGTERM') {
      if (hasEnded()) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      child.kill('SIGCONT');
      await ended;
    },
  };
}

/** Resolves once a server has printed a text. Fails with what it printed when it ends instead. */
export async function untilPrinted(server: ServerProcess, text: string): Promise<void> {
  await waitFor(() => {
    if (server.hasEnded()) throw new Error(`the server ended: ${server.output()}`);
    return server.output().includes(text);
  });
}
