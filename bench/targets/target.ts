import { mkdtemp, chmod, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { MessageType } from '../../src/domain.ts';

/** Where a target runs: a directory that is thrown away, and what has to be undone when it is. */
export interface Place extends AsyncDisposable {
  readonly directory: string;
  readonly cleanup: AsyncDisposableStack;
  /** Fires when the benchmark is told to stop. */
  readonly signal: AbortSignal;
}

/** A receiver that runs and takes deliveries at `POST /ingest/default/MESSAGE_TYPE`. */
export interface RunningTarget {
  readonly origin: string;
  readonly secret: string;
  /** Of the receiver's own Node.js process. */
  readonly pid: number;
  /** Rows in Postgres that came of records of this type. */
  countRows(messageType: MessageType): Promise<number>;
}

/** Makes a place under the temporary directory, which the database's own user can reach as well. */
export async function openPlace(signal: AbortSignal): Promise<Place> {
  signal.throwIfAborted();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-bench-'));
  const cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  return { directory, cleanup, signal, [Symbol.asyncDispose]: () => cleanup.disposeAsync() };
}
