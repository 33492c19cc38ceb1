import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLatencies } from '../../bench/latencies.ts';
import { SECRET } from '../support/program.ts';
import { enterAnswer, openLedger, type Ledger } from './ledger.ts';
import type { Payload, Payloads } from './payloads.ts';

/** A load under way. */
export interface Load {
  readonly ledger: Ledger;
  /** Sends no more, waits for the answers that are due. */
  stop(): Promise<LoadTimes>;
}

export interface LoadTimes {
  /** The longest time without a 2xx while the load ran, in milliseconds. */
  readonly silenceMs: number;
  /** The time from a delivery to its 2xx that one of a hundred exceeds, in milliseconds. */
  readonly p99Ms: number;
}

/** Each sends its next delivery once the last is answered, or given up. */
const SENDERS = 64;

/** A sender gives up by then: longer than any answer should take, shorter than a frozen process sleeps. */
const ANSWER_TIMEOUT_MS = 15_000;

/** A sender that finds nobody tries its next delivery after this. */
const NOBODY_PAUSE_MS = 50;

/** Sends payloads at so many a second, or as fast as the senders are answered. */
export function startLoad(origin: string, payloads: Payloads, rate: number, source = 'default'): Load {
  const ledger = openLedger();
  const latencies = createLatencies();
  const agent = new http.Agent({ keepAlive: true, maxSockets: SENDERS });
  const stopping = new AbortController();
  let due = performance.now();
  let lastAt = due;
  let silenceMs = 0;

  /** What was missed during a silence is not made up for: the rate stays. */
  const nextTurn = () => {
    const now = performance.now();
    due = Math.max(due + 1_000 / rate, now);
    return sleep(due - now, undefined, { signal: stopping.signal });
  };

  async function sendOne(payload: Payload): Promise<void> {
    const began = performance.now();
    ledger.sent += 1;
    let answer: { status: number; text: string };
    try {
      answer = await post(agent, `${origin}/ingest/${source}`, payload);
    } catch {
      ledger.unanswered += 1;
      await sleep(NOBODY_PAUSE_MS);
      return;
    }
    if (!enterAnswer(ledger, payload, answer.status, answer.text)) return;
    payloads.acknowledged(payload);
    const now = performance.now();
    latencies.add(now - began);
    silenceMs = Math.max(silenceMs, now - lastAt);
    lastAt = now;
  }

  async function sendUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      await nextTurn().catch(() => undefined);
      if (!stopping.signal.aborted) await sendOne(payloads.next());
    }
  }

  const senders = Promise.all(Array.from({ length: SENDERS }, sendUntilStopped));
  return {
    ledger,
    async stop() {
      stopping.abort();
      silenceMs = Math.max(silenceMs, performance.now() - lastAt);
      await senders;
      agent.destroy();
      return { silenceMs, p99Ms: latencies.percentile(99) };
    },
  };
}

async function post(
  agent: http.Agent,
  address: string,
  { messageType, body }: Payload,
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  http
    .request(`${address}/${messageType}`, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${SECRET}`, 'content-length': Buffer.byteLength(body) },
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    .on('response', resolve)
    .on('error', reject)
    .end(body);
  const response = await promise;
  return { status: response.statusCode ?? 0, text: (await buffer(response)).toString() };
}
