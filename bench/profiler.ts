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
  samples: z.array(z.number()),
  /** Microseconds since the sample before. */
  timeDeltas: z.array(z.number()),
});

export type CpuProfile = z.infer<typeof CpuProfile>;

/** The profiler of a program's main thread. */
export interface Profiler {
  start(): Promise<void>;
  stop(): Promise<CpuProfile>;
}

/** V8 counts the time of JSON to the callers. These functions appear in a profile as `JSON.parse` and `JSON.stringify`. */
const SHOW_JSON = `{
  const { parse, stringify } = JSON;
  JSON.parse = (text, reviver) => parse(text, reviver);
  JSON.stringify = (value, replacer, space) => stringify(value, replacer, space);
}`;

const Targets = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })]);
const Message = z.tuple([z.object({ data: z.string() })]);
const Answer = z.object({
  id: z.number().optional(),
  error: z.object({ message: z.string() }).optional(),
  result: z.unknown(),
});

/** Connects to the Node.js process whose inspector listens on this port (`--inspect`). */
export async function connectProfiler(port: number): Promise<Profiler> {
  const [{ webSocketDebuggerUrl }] = Targets.parse(
    await (await fetch(`http://127.0.0.1:${port}/json/list`)).json(),
  );
  const socket = new WebSocket(webSocketDebuggerUrl);
  await once(socket, 'open');
  let sent = 0;
  const send = async (method: string, params: object = {}) => {
    const id = (sent += 1);
    socket.send(JSON.stringify({ id, method, params }));
    for (;;) {
      const [{ data }] = Message.parse(await once(socket, 'message'));
      const answer = Answer.parse(JSON.parse(data));
      if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
      if (answer.id === id) return answer.result;
    }
  };
  await send('Runtime.evaluate', { expression: SHOW_JSON });
  await send('Profiler.enable');
  return {
    start: async () => void (await send('Profiler.start')),
    stop: async () => {
      const { profile } = z.object({ profile: CpuProfile }).parse(await send('Profiler.stop'));
      socket.close();
      return profile;
    },
  };
}
