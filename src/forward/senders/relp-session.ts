import type { Socket } from 'node:net';
import pTimeout from 'p-timeout';
import { connectStream, type StreamOptions } from './connect-stream.ts';
import { createFrameReader, MAX_TXNR, writeFrame, type RelpFrame } from './relp-frames.ts';

/** An open session with a RELP receiver. */
export interface RelpSession {
  /** Whether the session has ended: the receiver has closed it, is gone, or broke the protocol. */
  isBroken(): boolean;
  /** Sends a syslog message, after those of earlier calls. Rejects if the session ends before its answer. */
  deliver(message: string): Promise<RelpAnswer>;
  /** Ends the session; messages without an answer are rejected. */
  close(): Promise<void>;
}

/** The receiver's answer to a command. */
interface RelpAnswer {
  /** 200: accepted; all others are errors. */
  readonly code: number;
  readonly text: string;
  /** The lines after the first one. */
  readonly data: string;
}

/** Version 0 is the one that librelp speaks, and with it rsyslog. */
const OFFERS = 'relp_version=0\nrelp_software=xiq-sink\ncommands=syslog';

/** A receiver that is asked to close has nothing left to do but to answer. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Opens a session (https://github.com/rsyslog/librelp, doc/relp.md). Rejects if the receiver offers no `syslog`. */
export async function openRelpSession(options: StreamOptions): Promise<RelpSession> {
  const socket = await connectStream(options);
  const transactions = followTransactions(socket, options.timeoutMs);
  const refusal = refusalOfOpen(await transactions.request('open', OFFERS));
  if (refusal !== undefined) {
    socket.destroy();
    throw new Error(refusal);
  }
  return {
    isBroken: () => transactions.failure() !== undefined,
    deliver: (message) => transactions.request('syslog', message),
    async close() {
      if (transactions.open() === 0) {
        const closing = transactions.request('close', '').catch(() => undefined);
        await pTimeout(closing, { milliseconds: CLOSE_TIMEOUT_MS, message: false });
      }
      socket.destroy();
    },
  };
}

function refusalOfOpen({ code, text, data }: RelpAnswer): string | undefined {
  if (code !== 200) return `the receiver refuses a session: ${code} ${text}`;
  const offers = new Map(data.split('\n').map((line) => [line.split('=')[0], line.split('=')[1] ?? '']));
  if (!offers.has('relp_version')) return 'the receiver opens a session without relp_version';
  return offers.get('commands')?.split(',').includes('syslog') === true
    ? undefined
    : 'the receiver does not offer the command syslog';
}

interface Transaction {
  readonly resolve: (answer: RelpAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** Sends commands and matches answers with them, until the first failure. */
function followTransactions(socket: Socket, timeoutMs: number) {
  const transactions = new Map<number, Transaction>();
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
      fail(error instanceof Error ? error : new Error('the answer can not be read', { cause: error }));
    }
  });
  socket.on('error', fail);
  socket.on('timeout', () => fail(new Error(`no answer for ${timeoutMs} ms`)));
  socket.once('close', () => fail(new Error('the receiver closed the connection')));

  return {
    /** Why the session has ended. */
    failure: () => failure,
    /** How many commands wait for an answer. */
    open: () => transactions.size,
    /** Resolves with the answer to a command; rejects if the session ends before. */
    request(command: string, data: string): Promise<RelpAnswer> {
      if (failure !== undefined) return Promise.reject(failure);
      lastTxnr = lastTxnr === MAX_TXNR ? 1 : lastTxnr + 1;
      const { promise, resolve, reject } = Promise.withResolvers<RelpAnswer>();
      if (transactions.size === 0) socket.setTimeout(timeoutMs);
      transactions.set(lastTxnr, { resolve, reject });
      writeTogether(socket, writeFrame({ txnr: lastTxnr, command, data }));
      return promise;
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
