import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { auditRecord } from '../support/deliveries.ts';
import { HOSTILE_BODIES } from './hostile-bodies.ts';

/**
 * A source that sends as much as it can, from a process of its own. It prints the number of answers by status; 0 stands
 * for connections that broke.
 */
const Flood = z.object({
  url: z.string(),
  secret: z.string(),
  /** Each connection sends these by turns: names of `HOSTILE_BODIES`, or of the ones below. */
  bodies: z.array(z.string()),
  seconds: z.number(),
  connections: z.number(),
  /** In all; as many as it can if null. */
  requests: z.number().nullable(),
  /** Whether each body stops shortly before its end, for good. */
  stalls: z.boolean(),
});

const { url, secret, bodies, seconds, connections, requests, stalls } = Flood.parse(
  JSON.parse(process.argv[2] ?? ''),
);

const records = (length: number) =>
  JSON.stringify(Array.from({ length }, (_, n) => auditRecord({ userId: n })));

const OWN: Readonly<Record<string, () => string>> = {
  'one record': () => JSON.stringify([auditRecord()]),
  '200 records': () => records(200),
  '20,000 records': () => records(20_000),
  'a little that is not JSON': () => randomBytes(3_000).toString('base64'),
};

const made = bodies.map((name) => {
  const own = OWN[name]?.();
  const body =
    own === undefined ? HOSTILE_BODIES[name]?.() : { sent: Buffer.from(own), encoding: 'identity' };
  if (body === undefined) throw new Error(`no body is called ${name}`);
  return body;
});
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const end = Date.now() + seconds * 1_000;
const answers: Record<string, number> = {};
let begun = 0;

const post = ({ sent, encoding }: (typeof made)[number]) =>
  new Promise<number>((resolve) => {
    const headers = {
      authorization: `Bearer ${secret}`,
      'content-encoding': encoding,
      'content-length': sent.length,
    };
    const sending = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0));
    });
    sending.once('error', () => resolve(0));
    if (stalls) sending.write(sent.subarray(0, -1_000));
    else sending.end(sent);
  });

/** Bytes that a network of 1 Gbit/s carries in a millisecond. More would measure how this machine copies memory. */
const BYTES_PER_MS = 125_000;
let nextAt = Date.now();

/** Waits until the network would have carried what the others have sent. */
async function takeTurn(bytes: number): Promise<void> {
  const now = Date.now();
  const at = Math.max(now, nextAt);
  nextAt = at + bytes / BYTES_PER_MS;
  await setTimeout(at - now);
}

async function attack(): Promise<void> {
  while (Date.now() < end && begun < (requests ?? Number.POSITIVE_INFINITY)) {
    const body = made[begun % made.length];
    if (body === undefined) return;
    begun += 1;
    await takeTurn(body.sent.length);
    const status = await post(body);
    answers[status] = (answers[status] ?? 0) + 1;
  }
}

const attacking = Promise.all(Array.from({ length: connections }, attack));
// What is answered late counts, too; a body that stalls is never answered.
await (stalls ? Promise.race([attacking, setTimeout((seconds + 5) * 1_000)]) : attacking);
await setTimeout(Math.max(0, end - Date.now()));
process.stdout.write(JSON.stringify(answers), () => process.exit());
