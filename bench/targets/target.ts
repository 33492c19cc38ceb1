import { mkdtemp, chmod, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { MessageType } from '../../src/events/domain.ts';

/** The place where a target runs: a temporary directory, with the clean-up at its end. */
export interface Place extends AsyncDisposable {
  readonly directory: string;
  /** The data directory of its database. */
  readonly dataDir: string;
  readonly cleanup: AsyncDisposableStack;
  /** Fires when the benchmark is interrupted. */
  readonly signal: AbortSignal;
}

/** A running receiver that accepts deliveries at `POST /ingest/default/MESSAGE_TYPE`. */
export interface RunningTarget {
  readonly origin: string;
  readonly secret: string;
  /** The id of the receiver's Node.js process. */
  readonly pid: number;
  /** The process ids of the servers that it uses, by name. */
  readonly servers: Readonly<Record<string, number>>;
  /** The number of rows in Postgres from records of this type that were stored since the target started. */
  countRows(messageType: MessageType): Promise<number>;
}

/** How xiq-sink is started. */
export interface Variant {
  /** The folder of its checkout; without it, this one. */
  readonly checkout?: string;
  /** Additional settings. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Creates a place under the temporary directory. The user of the database can read it as well. A data directory that is
 * given stays at the end.
 */
export async function openPlace(signal: AbortSignal, dataDir?: string): Promise<Place> {
  signal.throwIfAborted();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-bench-'));
  const cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  return {
    directory,
    dataDir: dataDir ?? path.join(directory, 'data'),
    cleanup,
    signal,
    [Symbol.asyncDispose]: () => cleanup.disposeAsync(),
  };
}
