import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from './target.ts';

/** A program of the benchmark. */
interface Program {
  /** Used for its log file and in errors. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Its environment, besides PATH: nothing of the person's own settings leaks in. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves when the program is ready, throws while it is not. */
  readonly check: () => Promise<unknown>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

/**
 * Starts a program and waits until it is ready. It is stopped with the place. Gives its process id; throws
 * with the end of its log when it does not get ready.
 */
export async function startChild(
  { name, command, args, env, check }: Program,
  { directory, cleanup, signal }: Place,
): Promise<number> {
  const logFile = path.join(directory, `${name}.log`);
  const log = await open(logFile, 'a');
  // A group of its own: Ctrl-C reaches the benchmark alone, which then stops everything in order.
  const child = spawn(command, args, {
    cwd: directory,
    env: { PATH: process.env['PATH'], ...env },
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  await once(child, 'spawn');
  await log.close();
  cleanup.defer(() => stop(child));
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await succeeds(check))) {
    if (hasEnded(child) || Date.now() > deadline) {
      const end = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-5).join('\n');
      throw new Error(`${name} did not get ready; its log ends:\n${end}`);
    }
    await sleep(50, undefined, { signal });
  }
  return child.pid ?? 0;
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

async function succeeds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check();
    return true;
  } catch {
    return false;
  }
}

/** Rejects unless a GET of the address is answered with 2xx. */
export async function checkAnswers(url: string): Promise<void> {
  const response = await fetch(url);
  await response.text();
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
}
