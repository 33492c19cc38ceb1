import type { Socket } from 'node:net';
import pTimeout from 'p-timeout';
import { connectStream, type StreamOptions } from './connection-options.ts';

export type RelpSession = Awaited<ReturnType<typeof openRelpSession>>;

interface RelpAnswer {
  /** 200: accepted; all others are errors. */
  readonly code: number;
  readonly text: string;
  readonly data: string;
}

/** Version 0 is the one that librelp speaks, and with it rsyslog. */
const OFFERS = 'relp_version=0\nrelp_software=xiq-sink\ncommands=syslog';

/** A receiver that is asked to close has nothing left to do but to answer. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Opens a session (https://github.com/rsyslog/librelp, doc/relp.md). Rejects if the receiver offers no `syslog`. */
export async function openRelpSession(options: StreamOptions) {
  const socket = await connectStream(options);
  const transactions = followTransactions(socket, options.timeoutMs);
  const refusal = refusalOfOpen(await transactions.request('open', OFFERS));
  if (refusal !== undefined) {
    socket.destroy();
    throw new Error(refusal);
  }
  return {
    /** Whether the session has ended: the receiver has closed it, is gone, or broke the protocol. */
    isBroken: () => transactions.failure() !== undefined,
    /** Sends a syslog message, after those of earlier calls. Rejects if the session ends before its answer. */
    deliver: (message: string) => transactions.request('syslog', message),
    /** Ends the session; messages without an answer are rejected. */
    async close(): Promise<void> {
      if (transactions.open() === 0) {
        const closing = transactions.request('close', '').catch(() => undefined);
        await pTimeout(closing, { milliseconds: CLOSE_TIMEOUT_MS, message: false });
      }
      socket.destroy();
    },
  };
}

function refusalOfOpen({ code, text, data }: RelpAnswer): string | undefined {
  if (code !== 200) return `the receiver refused the session: ${code} ${text}`;
  const offers = new Map(data.split('\n').map((line) => [line.split('=')[0], line.split('=')[1] ?? '']));
  if (!offers.has('relp_version')) return 'the receiver opened the session without relp_version';
  return offers.get('commands')?.split(',').includes('syslog') === true
    ? undefined
    : 'the receiver does not offer the command syslog';
}

/** Sends commands and matches answers with them, until the first failure. */
function followTransactions(socket: Socket, timeoutMs: number) {
  const transactions = new Map<number, PromiseWithResolvers<RelpAnswer>>();
  const read = createFrameReader();
  let lastTxnr = 0;
  let failure: Error | undefined;

  function fail(error: Error): void {
    failure ??= error;
    socket.destroy();
    for (const { reject } of transactions.values()) reject(failure);
    transactions.clear();
  }

  function accept(frame: RelpFrame): void {
    if (frame.command === 'serverclose') throw new Error('the receiver closed the session');
    if (frame.command !== 'rsp') throw new Error(`the receiver sent the command ${frame.command}`);
    const transaction = transactions.get(frame.txnr);
    if (transaction === undefined)
      throw new Error(`the receiver answered transaction ${frame.txnr}, which is not open`);
    const answer = parseAnswer(frame);
    transactions.delete(frame.txnr);
    if (transactions.size === 0) socket.setTimeout(0);
    transaction.resolve(answer);
  }

  socket.on('data', (chunk: Buffer) => {
    try {
      for (const frame of read(chunk)) accept(frame);
    } catch (error) {
      fail(error instanceof Error ? error : new Error('the answer cannot be read', { cause: error }));
    }
  });
  socket.on('error', fail);
  socket.on('timeout', () => fail(new Error(`no answer for ${timeoutMs} ms`)));
  socket.once('close', () => fail(new Error('the receiver closed the connection')));

  return {
    failure: () => failure,
    open: () => transactions.size,
    /** Resolves with the answer to a command; rejects if the session ends before. */
    request(command: string, data: string): Promise<RelpAnswer> {
      if (failure !== undefined) return Promise.reject(failure);
      lastTxnr = lastTxnr === MAX_TXNR ? 1 : lastTxnr + 1;
      const transaction = Promise.withResolvers<RelpAnswer>();
      if (transactions.size === 0) socket.setTimeout(timeoutMs);
      transactions.set(lastTxnr, transaction);
      writeTogether(socket, writeFrame({ txnr: lastTxnr, command, data }));
      return transaction.promise;
    },
  };
}

/** Frames that are written at the same moment go to the operating system together. */
function writeTogether(socket: Socket, text: string): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    process.nextTick(() => socket.uncork());
  }
  socket.write(text);
}

function parseAnswer({ txnr, data }: RelpFrame): RelpAnswer {
  const [, code, text = '', rest = ''] = /^(\d{3})(?: ([^\n]*))?(?:\n(.*))?$/s.exec(data) ?? [];
  if (code === undefined) throw new Error(`the receiver's answer ${txnr} has no code`);
  return { code: Number(code), text, data: rest };
}

interface RelpFrame {
  /** The transaction: counted from 1 by the sender; an answer has that of its command, a hint has 0. */
  readonly txnr: number;
  readonly command: string;
  readonly data: string;
}

/** After this transaction comes 1 again. */
export const MAX_TXNR = 999_999_999;

/** Answers contain a code and a short text; the answer to `open` also has some lines. */
const MAX_DATA_BYTES = 16_384;

/** The longest header: two numbers of 9 digits, a command of 32 letters, and the character behind each. */
const MAX_HEADER_BYTES = 53;

/** A frame of the specification: `TXNR SP COMMAND SP DATALEN [SP DATA] LF`, DATALEN in bytes. */
export function writeFrame({ txnr, command, data }: RelpFrame): string {
  const header = `${txnr} ${command} ${Buffer.byteLength(data)}`;
  return data === '' ? `${header}\n` : `${header} ${data}\n`;
}

/**
 * Reads frames from a stream. The function that it returns takes each chunk and returns the frames that are complete
 * with it. It throws if the bytes are not RELP or a frame is too long; the stream can't be read on then.
 */
export function createFrameReader(): (chunk: Buffer) => RelpFrame[] {
  let unread = Buffer.alloc(0);
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    const frames: RelpFrame[] = [];
    let start = 0;
    for (;;) {
      const found = readFrame(unread, start);
      if (found === undefined) break;
      frames.push(found.frame);
      start = found.end;
    }
    unread = unread.subarray(start);
    return frames;
  };
}

/** The header with the character after it: a space before data, the line feed if there is none. */
const HEADER = /^(\d{1,9}) ([A-Za-z]{1,32}) (\d{1,9})([ \n])/;

const PARTIAL_HEADER = /^(?:\d{1,9}(?: (?:[A-Za-z]{1,32}(?: \d{0,9})?)?)?)?$/;

/** Undefined if the frame is not complete yet. */
function readFrame(bytes: Buffer, start: number): { frame: RelpFrame; end: number } | undefined {
  const text = bytes.toString('latin1', start, start + MAX_HEADER_BYTES);
  const [header, txnr, command = '', length, separator] = HEADER.exec(text) ?? [];
  if (header === undefined) {
    if (PARTIAL_HEADER.test(text)) return undefined;
    throw new Error(`the receiver answered not in RELP but with ${JSON.stringify(text)}`);
  }
  const dataLength = Number(length);
  if (dataLength > MAX_DATA_BYTES) throw new Error(`the receiver announced an answer of ${dataLength} bytes`);
  const dataStart = start + header.length;
  // Without data, the line feed is the character after the header; librelp also accepts a space before it.
  const end = separator === '\n' ? dataStart : dataStart + dataLength + 1;
  if (separator === '\n' && dataLength > 0) throw new Error(`the receiver's frame ${txnr} lacks its data`);
  if (bytes.length < end) return undefined;
  if (bytes[end - 1] !== 0x0a) throw new Error(`the receiver's frame ${txnr} does not end after its data`);
  return {
    frame: { txnr: Number(txnr), command, data: bytes.toString('utf8', dataStart, dataStart + dataLength) },
    end,
  };
}
