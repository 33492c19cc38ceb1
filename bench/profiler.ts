import { once } from 'node:events';
import { z } from 'zod';

/** A profile as V8 reports it: a tree of functions, and the function of each sample. */
export const CpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({
        functionName: z.string(),
        /** A path, a `file:` or `node:` address, or empty for a function of V8 or of Node.js in C++. */
        url: z.string(),
        /** Counted from 0. */
        lineNumber: z.number(),
      }),
      children: z.array(z.number()).optional(),
    }),
  ),
  /** Microseconds of the monotonic clock that all processes of a machine share. */
  startTime: z.number(),
  samples: z.array(z.number()),
  /** Microseconds since the sample before. */
  timeDeltas: z.array(z.number()),
});

export type CpuProfile = z.infer<typeof CpuProfile>;

/** The profiles of a program's threads that run JavaScript. */
export interface Profiles {
  readonly main: CpuProfile;
  readonly workers: readonly CpuProfile[];
}

/** The running profiler of a program. */
export interface Profiler {
  /** From here on samples count. */
  mark(): void;
  stop(): Promise<Profiles>;
}

/** V8 counts the time of JSON to the callers. These functions appear in a profile as `JSON.parse` and `JSON.stringify`. */
const SHOW_JSON = `{
  const { parse, stringify } = JSON;
  JSON.parse = (text, reviver) => parse(text, reviver);
  JSON.stringify = (value, replacer, space) => stringify(value, replacer, space);
}`;

const Targets = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })]);
const Stopped = z.object({ profile: CpuProfile });
const Text = z.object({ data: z.string() });
const Message = z.object({
  /** Of an answer. */
  id: z.number().optional(),
  error: z.object({ message: z.string() }).optional(),
  result: z.unknown().optional(),
  /** Of an event. */
  method: z.string().optional(),
  params: z.object({ sessionId: z.string().optional(), message: z.string().optional() }).optional(),
});

/** Sends a command to one thread and resolves to its answer. */
type Send = (method: string, params?: object) => Promise<unknown>;

/**
 * Starts to profile the Node.js process whose inspector listens on this port (`--inspect`), with all its workers.
 * Start before the warm-up: of functions that were compiled into their callers earlier, a profile knows only the callers.
 */
export async function startProfiler(port: number): Promise<Profiler> {
  const list = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [{ webSocketDebuggerUrl }] = Targets.parse(await list.json());
  const socket = new WebSocket(webSocketDebuggerUrl);
  await once(socket, 'open');
  const waiting = new Map<number, (message: z.infer<typeof Message>) => void>();
  const workers = new Map<string, { readonly send: Send; readonly started: Promise<void> }>();
  let sent = 0;

  async function exchange(method: string, params: object, send: (text: string) => void): Promise<unknown> {
    const id = (sent += 1);
    const { promise, resolve } = Promise.withResolvers<z.infer<typeof Message>>();
    waiting.set(id, resolve);
    send(JSON.stringify({ id, method, params }));
    const { error, result } = await promise;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  const main: Send = async (method, params = {}) => exchange(method, params, (text) => socket.send(text));
  const workerOf = (sessionId: string): Send => {
    return async (method, params = {}) =>
      exchange(method, params, (message) => {
        void main('NodeWorker.sendMessageToWorker', { sessionId, message });
      });
  };

  async function profile(send: Send): Promise<void> {
    await send('Runtime.evaluate', { expression: SHOW_JSON });
    await send('Profiler.enable');
    await send('Profiler.start');
  }

  function receive(text: string): void {
    const message = Message.parse(JSON.parse(text));
    const { sessionId, message: fromWorker } = message.params ?? {};
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    else if (fromWorker !== undefined) receive(fromWorker);
    else if (message.method === 'NodeWorker.attachedToWorker' && sessionId !== undefined) {
      const send = workerOf(sessionId);
      workers.set(sessionId, { send, started: profile(send) });
    } else if (message.method === 'NodeWorker.detachedFromWorker' && sessionId !== undefined) {
      workers.delete(sessionId);
    }
  }
  socket.addEventListener('message', (event) => receive(Text.parse(event).data));

  await profile(main);
  await main('NodeWorker.enable', { waitForDebuggerOnStart: false });
  let marked = 0;
  return {
    mark: () => {
      marked = Number(process.hrtime.bigint() / 1_000n);
    },
    stop: async () => {
      const stop = async (send: Send) => after(marked, Stopped.parse(await send('Profiler.stop')).profile);
      const ofWorkers = workers.values().map(async ({ send, started }) => {
        await started;
        return stop(send);
      });
      const profiles = { main: await stop(main), workers: await Promise.all(ofWorkers) };
      socket.close();
      return profiles;
    },
  };
}

/** The profile without the samples before a time. */
function after(time: number, profile: CpuProfile): CpuProfile {
  let at = profile.startTime;
  const first = profile.timeDeltas.findIndex((delta) => (at += delta) >= time);
  const from = first === -1 ? profile.samples.length : first;
  return { ...profile, samples: profile.samples.slice(from), timeDeltas: profile.timeDeltas.slice(from) };
}
