import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { HOSTILE_BODIES } from './hostile-bodies.ts';

/**
 * A flood of one hostile body, sent from a process of its own so that it does not slow down the measurement. It prints
 * the number of answers by status; 0 stands for connections that broke.
 */
const Flood = z.object({
  url: z.string(),
  secret: z.string(),
  /** One of `HOSTILE_BODIES`. */
  name: z.string(),
  /** So long, and longer only for answers that are still to come. */
  seconds: z.number(),
  connections: z.number(),
  /** At most so many requests; as many as it can if null. */
  requests: z.number().nullable(),
});

const { url, secret, name, seconds, connections, requests } = Flood.parse(JSON.parse(process.argv[2] ?? ''));
const body = HOSTILE_BODIES[name]?.();
if (body === undefined) throw new Error(`no hostile body is called ${name}`);
const { sent, encoding } = body;
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const end = Date.now() + seconds * 1_000;
const answers: Record<string, number> = {};
let begun = 0;

const post = () =>
  new Promise<number>((resolve) => {
    const headers = {
      authorization: `Bearer ${secret}`,
      'content-encoding': encoding,
      'content-length': sent.length,
    };
    const sending = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0));
    });
    sending.once('error', () => resolve(0)).end(sent);
  });

/** Bytes that a network of 1 Gbit/s carries in a millisecond. More would measure how this machine copies memory. */
const BYTES_PER_MS = 125_000;
let nextAt = Date.now();

/** Waits until the network would have carried what the others have sent. */
async function takeTurn(): Promise<void> {
  const now = Date.now();
  const at = Math.max(now, nextAt);
  nextAt = at + sent.length / BYTES_PER_MS;
  await setTimeout(at - now);
}

async function attack(): Promise<void> {
  while (Date.now() < end && begun < (requests ?? Number.POSITIVE_INFINITY)) {
    begun += 1;
    await takeTurn();
    const status = await post();
    answers[status] = (answers[status] ?? 0) + 1;
  }
}

// Bodies that become rows cost the most after their answers.
await Promise.all([setTimeout(seconds * 1_000), ...Array.from({ length: connections }, attack)]);
agent.destroy();
process.stdout.write(JSON.stringify(answers));
