import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { memoryMb } from '../attacks/measure.ts';
import { auditRecord } from '../support/deliveries.ts';
import { redisForTest, serveForTest } from '../support/for-one-test.ts';
import { postDelivery } from '../support/program.ts';
import { hasRedisServer } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const MIB = 1024 * 1024;
const SENDERS = 60;

/** Twice the mark of 64 MiB in hand, each byte of it in three forms, beside the 150 MB of an idle program: 560 MB. */
const MEMORY_BOUND_MB = 800;

const LARGE = Buffer.from(JSON.stringify([auditRecord({ description: 'x'.repeat(10 * MIB - 1_000) })]));
const BOMB = gzipSync(JSON.stringify([auditRecord({ description: ' '.repeat(10 * MIB - 1_000) })]));

it.skipIf(!hasRedisServer() || process.platform !== 'linux')(
  'bounds the memory while many send 10 MiB bodies and gzip bombs and the queue hangs, then takes deliveries again',
  async () => {
    const redis = await redisForTest();
    // A full spool: what the queue does not take has no other place than memory.
    const settings = { REDIS_URL: redis.url, SPOOL_MAX_BYTES: String(MIB) };
    const program = await serveForTest(settings, '--role', 'ingest');

    redis.signal('SIGSTOP');
    const stopping = new AbortController();
    let overloads = 0;
    let peak = 0;
    const sendAll = async (number: number) => {
      while (!stopping.signal.aborted) {
        // A sender that is refused in the middle of its body may see its connection end before the answer.
        const headers = { 'content-encoding': number % 2 === 0 ? 'identity' : 'gzip' };
        const sent = postDelivery(program, 'AUDIT_LOG_ALL', number % 2 === 0 ? LARGE : BOMB, { headers });
        const response = await sent.catch(() => undefined);
        if (response?.status !== 503) continue;
        overloads += 1;
        peak = Math.max(peak, await memoryMb(program));
        expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
      }
    };
    const senders = Promise.all(Array.from({ length: SENDERS }, (_, number) => sendAll(number)));
    await waitFor(() => overloads > 2 * SENDERS);
    stopping.abort();
    peak = Math.max(peak, await memoryMb(program));
    redis.signal('SIGCONT');
    await senders;

    expect(peak).toBeLessThan(MEMORY_BOUND_MB);
    await waitFor(async () => (await postDelivery(program, 'AUDIT_LOG_ALL', '{}')).status === 200);
    const told = program.output().split('overloaded: ');
    expect(told.length).toBeGreaterThan(1);
    expect(told.length).toBeLessThan(overloads / 4);
  },
);
