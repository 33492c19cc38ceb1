import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { WriteStream } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { quoteForShell } from '../../src/lib/text/command-name.ts';

/** How command lines run in a place. */
export interface Shell {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** The words before a command that let it run as another user or on another file system. */
  readonly enter: readonly string[];
  /** Gets every command line and all output. */
  readonly log: WriteStream;
  /** Ends what runs. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command line to its end and gives its standard output. Rejects with the end of all output unless its exit code is
 * 0, and when it takes longer than the seconds.
 */
export async function run(shell: Shell, line: string, seconds: number): Promise<string> {
  const { directory, env, enter, log, signal } = shell;
  const tooLong = AbortSignal.timeout(seconds * 1_000);
  log.write(`\n$ ${line}\n`);
  const [program, ...args] = [...enter, 'sh', '-c', line] as const;
  const child = spawn(program, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let stdout = '';
  const take = (chunk: Buffer) => {
    output += chunk.toString();
    log.write(chunk);
  };
  child.stderr.on('data', take);
  child.stdout.on('data', take).on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  try {
    await once(child, 'close', { signal: AbortSignal.any([signal, tooLong]) });
  } catch (error) {
    child.kill('SIGKILL');
    if (!tooLong.aborted) throw error;
    throw new Error(`\`${shorten(line)}\` has not ended after ${seconds} s:\n${endOf(output)}`, {
      cause: error,
    });
  }
  if (child.exitCode === 0) return stdout;
  throw new Error(`\`${shorten(line)}\` ended with ${child.exitCode ?? child.signalCode}:\n${endOf(output)}`);
}

/** A program in a terminal of 80 columns. */
export interface Terminal {
  /** All that it has shown, without colours. */
  readonly screen: () => string;
  readonly hasEnded: () => boolean;
  /** Types Ctrl-C and resolves with the exit code once the program has ended. */
  pressCtrlC(): Promise<number | null>;
}

/** Starts a command line in a pseudo terminal of its own. */
export function openTerminal({ directory, env, enter, log, signal }: Shell, line: string): Terminal {
  log.write(`\n$ ${line}\n`);
  const words = [...enter, 'sh', '-c', line].map(quoteForShell).join(' ');
  const args = ['--quiet', '--flush', '--return', '--command', `stty cols 80 rows 24; ${words}`, '/dev/null'];
  const child = spawn('script', args, {
    cwd: directory,
    env: { ...env, SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let shown = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      log.write(chunk);
    });
  }
  const ended = once(child, 'close', { signal });
  // Whoever presses Ctrl-C waits for it; a program that ends by itself is seen by `hasEnded`.
  ended.catch(() => undefined);
  return {
    screen: () => stripVTControlCharacters(shown).replaceAll('\r', ''),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async pressCtrlC() {
      child.stdin.write('\u0003');
      await ended;
      return child.exitCode;
    },
  };
}

/** The last lines of a long output. */
export const endOf = (output: string) =>
  stripVTControlCharacters(output).replaceAll('\r', '').trimEnd().split('\n').slice(-20).join('\n');

const shorten = (line: string) => (line.length > 50 ? `${line.slice(0, 49)}…` : line);
