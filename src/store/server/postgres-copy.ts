import { Readable } from 'node:stream';
import { Query, type Client, type Connection, type QueryResult } from 'pg';

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
  const data = new Readable({
    objectMode: true,
    highWaterMark: 1_000,
    read: () => void stream.resume(),
    // Nobody reads on: if the last rows paused the connection, the answers to further statements would never come.
    destroy(error, onDestroyed) {
      stream.resume();
      onDestroyed(error);
    },
  });
  client.query({
    submit: (connection: Connection) => connection.query(statement),
    handleRowDescription() {},
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      events.onRow?.(fields);
    },
    handleCopyData({ chunk }: { chunk: Buffer }) {
      events.onMessage?.(chunk.length);
      // A copy: pg reads the next bytes of the connection into the same memory.
      if (!data.push(Buffer.from(chunk)) && !data.destroyed) stream.pause();
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

/**
 * Lines of COPY ... FROM STDIN in text format, with a key each. They are kept as bytes: as strings, thousands of them would
 * live through several garbage collections, which took a sixth of the processor time of storing.
 */
export class CopyLines {
  #lines: { readonly key: string; readonly start: number; readonly end: number }[] = [];
  #buffer = takeBuffer(FIRST_BYTES);
  #length = 0;

  add(key: string, line: string): void {
    const start = this.#length;
    // UTF-8 takes three bytes at most for each UTF-16 code unit.
    const needed = start + 3 * line.length;
    if (needed > this.#buffer.length) {
      const larger = takeBuffer(Math.max(needed, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, start);
      giveBack(this.#buffer);
      this.#buffer = larger;
    }
    this.#length += this.#buffer.write(line, start);
    this.#lines.push({ key, start, end: this.#length });
  }

  /** Takes the lines away, in the order of their keys. */
  takeSorted(): CopyData {
    const buffer = takeBuffer(this.#length);
    let at = 0;
    for (const { start, end } of this.#lines.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
      at += this.#buffer.copy(buffer, at, start, end);
    }
    giveBack(this.#buffer);
    this.#buffer = NO_BYTES;
    this.#lines = [];
    this.#length = 0;
    return new CopyData(buffer.subarray(0, at), () => giveBack(buffer));
  }
}

const NO_BYTES = Buffer.alloc(0);

const FIRST_BYTES = 256 * 1024;

/**
 * Buffers of earlier lines. With a new one for each transaction, the pages of its memory are new, too: to write to
 * them took twice as long.
 */
const spareBuffers: Buffer[] = [];
/** One for each transaction in progress: three of ordinary deliveries, and one of the bulk lane. */
const MAX_SPARE = 4;
const MAX_SPARE_BYTES = 2 * 1024 * 1024;

function takeBuffer(bytes: number): Buffer {
  const fitting = spareBuffers.findIndex(({ length }) => length >= bytes);
  const [buffer] = fitting === -1 ? [] : spareBuffers.splice(fitting, 1);
  return buffer ?? Buffer.allocUnsafeSlow(bytes);
}

function giveBack(buffer: Buffer): void {
  if (buffer === NO_BYTES || buffer.length > MAX_SPARE_BYTES) return;
  spareBuffers.push(buffer);
  // The larger ones stay.
  spareBuffers.sort((a, b) => a.length - b.length);
  if (spareBuffers.length > MAX_SPARE) spareBuffers.shift();
}

/** The data of one COPY ... FROM STDIN in text format, as a parameter of a statement (see `acceptCopyData`). */
export class CopyData {
  readonly bytes: Buffer;
  #onRelease: (() => void) | undefined;

  /** `onRelease` is called when the bytes are no longer needed. */
  constructor(bytes: Buffer, onRelease?: () => void) {
    this.bytes = bytes;
    this.#onRelease = onRelease;
  }

  /** Call it when the server has the data: the memory is used for other data then. A second call does nothing. */
  release(): void {
    this.#onRelease?.();
    this.#onRelease = undefined;
  }
}

/** Whether the parameters of a statement are data to copy. */
export const isCopyData = (values: unknown): values is CopyData[] =>
  Array.isArray(values) && values[0] instanceof CopyData;

/**
 * Makes a connection accept statements with `CopyData` as parameters, one for each COPY ... FROM STDIN among them. They are
 * one transaction and take one round trip: the data is sent before the server asks for it. After an error, the server
 * ignores the rest of it.
 */
export function acceptCopyData(client: Client): void {
  const original: { readonly query: (this: Client, ...parameters: unknown[]) => unknown } = client;
  const send = original.query;
  Object.assign(client, {
    query(text: string, values?: unknown, callback?: unknown) {
      if (!isCopyData(values)) return send.call(client, text, values, callback);
      const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
      const query = new Query(text, (error, result) => {
        if (error instanceof Error) reject(error);
        else resolve(result);
      });
      query.submit = (connection) => submitCopies(connection, text, values);
      send.call(client, Object.assign(query, { handleCopyInResponse() {} }));
      return promise;
    },
  });
}

function submitCopies(connection: Connection, statements: string, data: readonly CopyData[]): void {
  const { stream } = connection;
  stream.cork();
  connection.query(statements);
  for (const { bytes } of data) {
    stream.write(messageHead('d', bytes.length));
    stream.write(bytes);
    stream.write(messageHead('c', 0));
  }
  stream.uncork();
}

/** PostgreSQL manual, "Message Formats": CopyData (d), CopyDone (c). */
function messageHead(type: 'd' | 'c', contentBytes: number): Buffer {
  const head = Buffer.alloc(5, type, 'latin1');
  head.writeUInt32BE(contentBytes + 4, 1);
  return head;
}
