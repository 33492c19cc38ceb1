import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { waitFor } from './wait-for.ts';

/** The command line of the checkout. */
export const PROGRAM = path.resolve(import.meta.dirname, '../../bin/xiq-sink');

export const SECRET = 'a-secret-of-the-tests-0123456789';

/** The real program, running as a child process. */
export interface Program {
  readonly url: string;
  /** Where console, API and metrics are. */
  readonly adminUrl: string;
  readonly pid: number;
  /** All it printed so far. */
  readonly output: () => string;
  /** Sends a signal and resolves with the exit code (null when the signal ended it) once it is gone. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
  hasEnded(): boolean;
}

type Settings = Readonly<Record<string, string>>;

const ReadyLine = z.object({ msg: z.literal('ready'), port: z.number(), adminPort: z.number() });

/** A directory that the user of the embedded Postgres can reach, too. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-e2e-'));
  await chmod(directory, 0o711);
  return directory;
}

/** Starts `xiq-sink serve` on a free port and resolves once it is ready; fails with its output when it ends instead. */
export const startProgram = (settings: Settings, ...args: string[]): Promise<Program> =>
  startProgramAt(PROGRAM, settings, ...args);

/** `startProgram` of another checkout. */
export async function startProgramAt(
  program: string,
  settings: Settings,
  ...args: string[]
): Promise<Program> {
  const env = { PATH: process.env['PATH'], PORT: '0', HOST: '127.0.0.1', ADMIN_PORT: '0', ...settings };
  const child = spawn(program, ['serve', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = once(child, 'exit');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  let ready: z.infer<typeof ReadyLine>;
  try {
    ready = await waitFor(() => {
      if (hasEnded())
        throw new Error(`the program ended with ${child.exitCode ?? child.signalCode}: ${stderr}`);
      return findReadyLine(stderr);
    }, 90_000);
  } catch (error) {
    // Nobody else could end what never got ready.
    child.kill('SIGKILL');
    if (child.exitCode !== null) throw error;
    throw new Error(`the program did not get ready: ${stderr}`, { cause: error });
  }
  return {
    url: `http://127.0.0.1:${ready.port}`,
    adminUrl: `http://127.0.0.1:${ready.adminPort}`,
    pid: child.pid ?? 0,
    output: () => stdout + stderr,
    signal: (signal) => child.kill(signal),
    hasEnded,
    async end(signal) {
      child.kill(signal);
      await exited;
      return child.exitCode;
    },
  };
}

function findReadyLine(stderr: string): z.infer<typeof ReadyLine> | undefined {
  for (const line of stderr.split('\n')) {
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    const parsed = ReadyLine.safeParse(JSON.parse(line));
    if (parsed.success) return parsed.data;
  }
  return undefined;
}

const isBytes = (body: unknown): body is Buffer<ArrayBuffer> => Buffer.isBuffer(body);

interface PostOptions {
  readonly source?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Posts a delivery with the tests' secret: records as JSON, a text or bytes as they are. */
export const postDelivery = (
  { url }: Pick<Program, 'url'>,
  messageType: string,
  body: unknown,
  { source = 'default', headers = {}, signal }: PostOptions = {},
) =>
  fetch(`${url}/ingest/${source}/${messageType}`, {
    method: 'POST',
    signal: signal ?? null,
    headers: { authorization: `Bearer ${SECRET}`, ...headers },
    body: typeof body === 'string' || isBytes(body) ? body : JSON.stringify(body),
  });

const run = promisify(execFile);

/** Runs a command of the program to its end. Rejects with its output when it fails. */
export async function runProgram(settings: Settings, ...args: string[]): Promise<string> {
  const { stdout } = await run(PROGRAM, args, { env: { PATH: process.env['PATH'], ...settings } });
  return stdout;
}

/** Kills a command as soon as the condition holds. Fails if it ends before. */
export async function killProgramWhen(
  condition: () => Promise<boolean>,
  settings: Settings,
  ...args: string[]
): Promise<void> {
  const child = spawn(PROGRAM, args, { env: { PATH: process.env['PATH'], ...settings }, stdio: 'ignore' });
  const exited = once(child, 'exit');
  await waitFor(async () => child.exitCode !== null || (await condition()));
  child.kill('SIGKILL');
  await exited;
  if (child.signalCode !== 'SIGKILL') throw new Error(`${args[0]} ended before it could be killed`);
}

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs a command of the program to its end, whatever that is. */
export async function endOfProgram(settings: Settings, ...args: string[]): Promise<Ended> {
  const child = spawn(PROGRAM, args, { env: { PATH: process.env['PATH'], ...settings } });
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode ?? -1, stdout: Buffer.concat(stdout), stderr };
}
