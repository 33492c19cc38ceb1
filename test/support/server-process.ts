import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** A server of Debian that runs as a child process. */
export interface ServerProcess {
  readonly pid: number;
  readonly output: () => string;
  readonly hasEnded: () => boolean;
  /** Sends the signal and waits for the end. Does nothing if it has ended. */
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
  options: { readonly uid?: number; readonly gid?: number; readonly cwd?: string } = {},
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
    async end(signal = 'SIGTERM') {
      if (hasEnded()) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}
