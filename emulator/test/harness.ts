import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import { createEmulator } from '../emulator.ts';
import type { EmulatorSetup } from '../emulator.ts';
import { WEBHOOK_TYPES } from '../../src/events/domain.ts';
import { createCall, logIn } from './call.ts';
import type { Answered } from './call.ts';

export { createCall, logIn } from './call.ts';
export type { Answered, Call } from './call.ts';

/** A clock that stands still until it is moved. As of any clock, a sleep rejects when its signal aborts. */
export interface ManualClock extends Clock {
  /** Moves time on, waking every sleeper at its own moment. */
  advance(ms: number): Promise<void>;
}

export function manualClock(start = Date.UTC(2026, 0, 15, 12)): ManualClock {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      const sleeper = { at: now + ms, wake: resolve.bind(null, undefined) };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', () => reject(new Error('aborted', { cause: signal.reason })), {
        once: true,
      });
      return promise.finally(() => sleepers.delete(sleeper));
    },
    async advance(ms) {
      const end = now + ms;
      for (;;) {
        await setImmediate();
        const [next] = [...sleepers].sort((a, b) => a.at - b.at);
        if (next === undefined || next.at > end) break;
        now = Math.max(now, next.at);
        next.wake();
      }
      now = end;
      await setImmediate();
    },
  };
}

/** Starts an emulator that sends nothing and speaks as specified unless told otherwise; the caller stops it. */
export async function openEmulator(setup: EmulatorSetup = {}) {
  const scale = { devices: 10, clients: 20, users: 10 };
  const emulator = createEmulator({ rate: 0, scale, dialect: 'spec', ...setup });
  return { emulator, url: await emulator.listen(0) };
}

/** Starts an emulator for one test, logged in as the administrator. */
export async function startEmulator(setup: EmulatorSetup = {}) {
  const { emulator, url } = await openEmulator(setup);
  onTestFinished(() => emulator.close());
  const token = await logIn(url, 'administrator');
  return { emulator, url, token, call: createCall(url, token) };
}

export const errorSchema = z.strictObject({
  error_code: z.string(),
  error_id: z.uuid(),
  error_message: z.string().optional(),
  error_message_code: z.string().optional(),
  error_message_description: z.string().optional(),
});

/** The `error_code` of an answer, whose body must be an error body and nothing more. */
export function errorCode({ body }: Answered): string {
  return errorSchema.parse(body).error_code;
}

/** One delivery as a receiver got it. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  records: Record<string, unknown>[];
  isArray: boolean;
}

const bodySchema = z.union([z.array(z.record(z.string(), z.unknown())), z.record(z.string(), z.unknown())]);

/** A receiver of deliveries; answers 200 unless told otherwise. */
export async function startReceiver(
  answer: (delivery: Received) => number | Promise<number> = () => 200,
  headers: Record<string, string> = {},
) {
  const received: Received[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = bodySchema.parse(JSON.parse(text));
      const records = [body].flat();
      const delivery = {
        path: req.url ?? '',
        headers: req.headers,
        text,
        records,
        isArray: Array.isArray(body),
      };
      received.push(delivery);
      void Promise.resolve(answer(delivery)).then((status) => res.writeHead(status, headers).end());
    });
  });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  server.listen(0, '127.0.0.1', resolve.bind(null, undefined));
  await promise;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = z.object({ port: z.int() }).parse(server.address());
  return { url: `http://127.0.0.1:${address.port}`, received };
}

/** Bodies that subscribe one receiver to message types, each at its own path. */
export function subscriptionsTo(url: string, secret: string, types: readonly string[] = WEBHOOK_TYPES) {
  return types.map((type) => ({
    application: 'test',
    url: `${url}/${type}`,
    secret,
    message_type: type,
    status: 'ENABLED',
  }));
}
