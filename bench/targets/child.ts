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
  /** Its environment in addition to PATH, without the settings of the user. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves if the program is ready, rejects otherwise. */
  readonly check: () => Promise<unknown>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

/**
 * Starts a program and waits until it is ready. It is stopped together with the place. Returns its process id; throws
 * with the end of its log if it does not become ready.
 */
export async function startChild(
  { name, command, args, env, check }: Program,
  { directory, cleanup, signal }: Place,
): Promise<number> {
  const logFile = path.join(directory, `${name}.log`);
  const log = await open(logFile, 'a');
  // A separate process group: Ctrl-C reaches only the benchmark, which then stops everything in order.
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
      throw new Error(`${name} did not become ready; the end of its log:\n${end}`);
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
