import { connect } from 'node:net';
import { brotliCompressSync, constants } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeBatch } from '../../src/queue/delivery-batch.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { head, serve } from './serve.ts';

/** How long bodies are tried, and from which seed to repeat a run. */
const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 2);
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

/** Without spaces, except for the one that is nothing else. */
const UNITS = String.raw`1e400 1.0 {} [] [[ [ {"a": "x" , : null -0 12345678901234567890 {"a":1} {"a":1.0}
  {"a":1e400,"b":[{"c":"x"}]} "\u0000" "\\" é 😀 {"a":[1.0,[1.0,[1.0]]]}`
  .split(/\s+/)
  .concat(' ');

/** What costly bodies are made of: repeated, nested, or once. */
const costly = fc
  .record({
    unit: fc.constantFrom(...UNITS),
    size: fc.constantFrom(1_000, 100_000, 255_000, 300_000, 2_000_000, 9_900_000),
    separator: fc.constantFrom(',', '', ' , '),
    around: fc.constantFrom(['[', ']'], ['{"a":[', ']}'], ['[{"a":"', '"}]'], ['', '']),
    isCompressed: fc.boolean(),
  })
  .map(({ unit, size, separator, around: [before = '', after = ''], isCompressed }) => {
    const text =
      before +
      Array(Math.ceil(size / (unit.length + separator.length)))
        .fill(unit)
        .join(separator) +
      after;
    const sent = isCompressed
      ? brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
      : text;
    return {
      sent: Buffer.from(sent),
      encoding: isCompressed ? 'br' : 'identity',
      what: [unit, size, separator, before, isCompressed],
    };
  });

/** Posts a body on a connection of its own, which costs this thread next to nothing. Resolves with the status. */
async function postRaw(port: number, sent: Buffer, encoding: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  const headers = [`Content-Length: ${sent.length}`, `Content-Encoding: ${encoding}`, 'Connection: close'];
  socket.write(head(...headers));
  socket.write(sent);
  let received = '';
  socket.on('data', (data) => (received += data.toString('latin1')));
  // Not by the `once` of node:events, which rejects at an error.
  await new Promise((resolve) => socket.once('close', resolve));
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1] ?? CUT_OFF);
}

/** In place of a status: the connection was closed while the body was still on its way, and the answer was lost. */
const CUT_OFF = 0;

/** Runs work, and resolves with the most milliseconds of CPU time that this thread took for one turn of its event loop. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let isRunning = true;
  let longest = 0;
  let before = process.threadCpuUsage();
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
    if (isRunning) setImmediate(turn);
  };
  turn();
  await work().finally(() => (isRunning = false));
  turn();
  return longest;
}

/** Milliseconds of CPU time. */
const MAX_TURN_MS = 50;

it(
  'no body holds up the event loop for more than 50 ms, before it is answered or while it goes into the queue',
  async () => {
    // As the queue does with each batch.
    const enqueue = async (delivery: QueuedDelivery) => {
      JSON.parse(encodeBatch([delivery]).toString());
      return 'queued' as const;
    };
    const { port } = await serve({ maxBodyBytes: 10 * 1024 * 1024, enqueue });
    const post = async ({ sent, encoding }: { sent: Buffer; encoding: string }) =>
      expect([200, 400, 413, 503, CUT_OFF]).toContain(await postRaw(port, sent, encoding));
    // The threads start with the first large body.
    await post({ sent: Buffer.alloc(300_000, ' '), encoding: 'identity' });
    await fc.assert(
      fc.asyncProperty(costly, async ({ what, ...body }) => {
        // Twice more if it was long: then it was not a collection of garbage, or the neighbours on this machine.
        let longest = Number.POSITIVE_INFINITY;
        for (let attempt = 0; attempt < 3 && longest >= MAX_TURN_MS; attempt += 1) {
          longest = Math.min(longest, await longestTurn(() => post(body)));
        }
        expect({ what, isShort: longest < MAX_TURN_MS }).toEqual({ what, isShort: true });
      }),
      {
        seed: SEED,
        numRuns: 1_000_000,
        interruptAfterTimeLimit: SECONDS * 1000,
        markInterruptAsFailure: false,
      },
    );
  },
  SECONDS * 1000 + 30_000,
);
