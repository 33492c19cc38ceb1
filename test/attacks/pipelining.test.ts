import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attack, startAttacked, type Attacked } from './attacked.ts';
import { ATTACK_SECONDS, MOST_MB, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

let attacked: Attacked;
beforeAll(async () => {
  attacked = await startAttacked();
});
afterAll(() => attacked.stop());

const portOf = (url: string) => Number(new URL(url).port);

const LISTENERS = [
  ['the ingest listener', () => portOf(attacked.program.url)],
  ['the admin listener', () => portOf(attacked.program.adminUrl)],
] as const;

/** The latency of the next good delivery, as measured before requests of one connection were limited. */
const FLOODS = [
  [
    '20 connections with 1,700 requests in each write',
    { connections: 20, requests: 1_700, pauseMs: 50 },
    '1.3 s',
  ],
  [
    '300 connections with 1,700 requests in each write',
    { connections: 300, requests: 1_700, pauseMs: 1_000 },
    '14.8 s',
  ],
  ['1 MB/s of requests', { connections: 1, requests: 1_500, pauseMs: 50 }, 'p50 3.1 s'],
] as const;

describe.each(LISTENERS)('pipelined requests to %s', (listener, port) => {
  it.each(FLOODS)('delay no good delivery: %s', async (name, flood, before) => {
    const options = { ...flood, port: port(), seconds: ATTACK_SECONDS };
    const measured = await measureDeliveries(attacked.program, attack('flood.ts', options));
    printMeasured(`${name} to ${listener}`, measured, before);
    expect(measured.deliveries).toBeGreaterThan(5);
    expect(measured.p99).toBeLessThan(MOST_MS);
    expect(measured.memory).toBeLessThan(MOST_MB);
  });
});
