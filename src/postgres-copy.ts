import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { Client, Connection } from 'pg';

/** The parts of a reply that are not data. */
export interface CopyEvents {
  /** Called for each message of data: of COPY, one row. */
  readonly onMessage?: (bytes: number) => void;
  /** Called for each row of a result before or after the data. */
  readonly onRow?: (fields: readonly (string | null)[]) => void;
}

/**
 * Runs a statement that sends data (COPY ... TO STDOUT, BASE_BACKUP). The stream has one item for each message, and ends
 * with the statement; its error is the statement's. A slow reader slows the server down.
 */
export function copyOut(client: Client, statement: string, events: CopyEvents = {}): Readable {
  const { stream } = client.connection;
  const data = new Readable({ objectMode: true, highWaterMark: 1_000, read: () => void stream.resume() });
  client.query({
    submit: (connection: Connection) => connection.query(statement),
    handleRowDescription() {},
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      events.onRow?.(fields);
    },
    handleCopyData({ chunk }: { chunk: Buffer }) {
      events.onMessage?.(chunk.length);
      // A copy: pg reads the next bytes of the connection into the same memory.
      if (!data.push(Buffer.from(chunk))) stream.pause();
    },
    handleCommandComplete() {},
    handleError(error: Error) {
      data.destroy(error);
    },
    handleReadyForQuery() {
      data.push(null);
    },
  });
  return data;
}

/** Runs a COPY ... FROM STDIN with this data, and resolves when the server has stored it. */
export async function copyIn(client: Client, statement: string, data: AsyncIterable<Buffer>): Promise<void> {
  const { stream } = client.connection;
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const send = async () => {
    try {
      for await (const batch of inBatches(data)) {
        if (stopping.signal.aborted) return;
        if (!stream.write(batch)) await once(stream, 'drain', { signal: stopping.signal });
      }
      stream.write(message('c'));
    } catch (error) {
      reject(error);
      if (!stopping.signal.aborted)
        stream.write(message('f', Buffer.from('the source of the data failed\0')));
    }
  };
  client.query({
    submit: (connection: Connection) => connection.query(statement),
    handleCopyInResponse: () => void send(),
    handleCommandComplete() {},
    handleError(error: Error) {
      reject(error);
      stopping.abort();
    },
    handleReadyForQuery: () => resolve(),
  });
  await ended;
}

/** Enough for a write to the network to be worth it: a row has a few hundred bytes. */
const BATCH_BYTES = 64 * 1024;

/** The messages that send this data, several at once. */
async function* inBatches(data: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of data) {
    batch.push(message('d', chunk));
    bytes += chunk.length;
    if (bytes < BATCH_BYTES) continue;
    yield Buffer.concat(batch);
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield Buffer.concat(batch);
}

/** PostgreSQL manual, "Message Formats": CopyData (d), CopyDone (c), CopyFail (f). */
function message(type: 'd' | 'c' | 'f', content: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5, type, 'latin1');
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}
