import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, setPriority } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { UsageError } from '../lib/errors.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';

/** A row as DuckDB prints it in JSON. Numbers beyond the integers of JSON are texts. */
type EngineRow = Readonly<Record<string, unknown>>;

/** DuckDB refused a statement, or its process ended. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
}

/** Measured with files of 300,000 rows: with less, a day is sorted on the disk; with more, nothing is faster. */
const MEMORY_MIB = 256;

/** The processors of a statement whose answer a person waits for. */
export const READING_THREADS = Math.min(availableParallelism(), 4);

const SCRIPT = fileURLToPath(new URL('engine-process.ts', import.meta.url));

const Reply = z.object({
  id: z.number(),
  rows: z.array(z.record(z.string(), z.unknown())).optional(),
  error: z.string().optional(),
});

/** DuckDB, which writes and reads the files of the archive. Its process starts with the first statement. */
export class Engine implements AsyncDisposable {
  readonly #directory: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly EngineRow[]>>();
  #process: Promise<ChildProcess> | undefined;
  #lastId = 0;

  /** `archive` is the directory of the archive; what does not fit the memory is kept in one below it. */
  constructor(archive: string) {
    this.#directory = path.join(archive, '.engine');
  }

  /**
   * Runs a statement, on one processor unless a person waits for its answer. Throws an EngineError if DuckDB refuses it, and a
   * UsageError if DuckDB is not installed.
   */
  async run(statement: string, threads = 1): Promise<readonly EngineRow[]> {
    this.#process ??= this.#start().catch((error: unknown) => {
      // The next statement tries again.
      this.#process = undefined;
      throw error;
    });
    const child = await this.#process;
    this.#lastId += 1;
    const waiting = Promise.withResolvers<readonly EngineRow[]>();
    this.#waiting.set(this.#lastId, waiting);
    child.ref();
    child.channel?.ref();
    child.send({ id: this.#lastId, statement, threads });
    return waiting.promise;
  }

  async #start(): Promise<ChildProcess> {
    try {
      import.meta.resolve('@duckdb/node-api');
    } catch (error) {
      const advice =
        'Install it again without --omit=optional: the archive needs the package @duckdb/node-api.';
      throw new UsageError(advice, { cause: error });
    }
    await makePrivateDirectory(this.#directory);
    const child = fork(SCRIPT, [String(MEMORY_MIB), this.#directory], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const started = Promise.withResolvers<ChildProcess>();
    child.on('message', (message) => {
      const { id, rows, error } = Reply.parse(message);
      if (id === 0) started.resolve(child);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(rows ?? []);
      else waiting?.reject(new EngineError(error));
      if (this.#waiting.size > 0) return;
      child.unref();
      child.channel?.unref();
    });
    // It could not be started. In every other case it also exits.
    child.on('error', started.reject);
    child.on('exit', (code, signal) => {
      const ended = new EngineError(`the DuckDB process ended (${signal ?? `exit ${code}`})`);
      this.#process = undefined;
      started.reject(ended);
      for (const waiting of this.#waiting.values()) waiting.reject(ended);
      this.#waiting.clear();
    });
    // Storing and answering go first.
    if (child.pid !== undefined) setPriority(child.pid, 10);
    return started.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = await this.#process?.catch(() => undefined);
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.ref();
    // One that is stopped would not see SIGTERM.
    child.kill('SIGKILL');
    await ended;
  }
}

/** A text as a literal of DuckDB's SQL. */
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** A name as an identifier of DuckDB's SQL. */
export const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`;
