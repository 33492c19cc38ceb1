import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { freePort } from '../support/free-port.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { postDelivery, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, serveForTest } from '../support/for-one-test.ts';

async function settingsFor(usesRedis: boolean, endpoint: string): Promise<Record<string, string>> {
  const database = await databaseForTest();
  return {
    DATABASE_URL: database.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
  };
}

const start = (settings: Record<string, string>, role = 'all') => serveForTest(settings, '--role', role);

const Receipt = z.looseObject({ delivery_id: z.string(), durability: z.string() });

async function deliver(program: Program | undefined): Promise<z.infer<typeof Receipt>> {
  if (program === undefined) throw new TypeError('no program accepts deliveries');
  const response = await postDelivery(program, 'AUDIT_LOG_ALL', '[{"id":1}]');
  expect(response.status).toBe(200);
  return Receipt.parse(await response.json());
}

describe.each(BACKENDS)('traces, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available).each([
    ['of one process', ['all'], ['commit batch', 'store batch']],
    [
      'through the queue to another process',
      ['ingest', 'worker'],
      ['commit batch', 'add deliveries.batch', 'process deliveries', 'store batch'],
    ],
  ])('follow one delivery from its receipt to its rows, %s', async (_where, roles, after) => {
    const receiver = await startOtlpReceiver();
    onTestFinished(() => receiver.close());
    const settings = await settingsFor(usesRedis, receiver.endpoint);
    const programs: Program[] = [];
    for (const role of roles) programs.push(await start(settings, role));
    // The first delivery of a process goes to the spool if the queue's first answer takes too long.
    const deliveryId = await waitFor(async () => {
      const receipt = await deliver(programs[0]);
      return receipt.durability === 'queued' ? receipt.delivery_id : undefined;
    });
    const names = ['receive AUDIT_LOG_ALL', ...after];
    const findTrace = () => {
      const receipt = receiver.spans.find(
        ({ name, attributes }) =>
          name === 'receive AUDIT_LOG_ALL' && attributes['xiq_sink.delivery_id'] === deliveryId,
      );
      return receiver.spans.filter(({ traceId }) => traceId === receipt?.traceId);
    };
    await waitFor(() => {
      const found = new Set(findTrace().map(({ name }) => name));
      return names.every((name) => found.has(name));
    });
    await Promise.all(programs.map((program) => program.end('SIGTERM')));

    const spans = findTrace();
    const chain = names.flatMap((name) => spans.filter((span) => span.name === name));
    expect(chain.map(({ name }) => name)).toEqual(names);
    expect(chain.map(({ parentSpanId }) => parentSpanId)).toEqual([
      '',
      ...chain.slice(0, -1).map(({ spanId }) => spanId),
    ]);
    expect(chain[0]?.service).toBe('xiq-sink');
    expect(chain[0]?.attributes).toMatchObject({
      'xiq_sink.delivery_id': deliveryId,
      'xiq_sink.records': 1,
    });
    expect(chain.at(-1)?.attributes).toMatchObject({ 'xiq_sink.delivery_id': deliveryId });
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
    expect(roots.map(({ name }) => name)).toEqual(['receive AUDIT_LOG_ALL']);
  });
});

it('cost nothing but a log line of each thread when nobody takes them', async () => {
  const program = await start(await settingsFor(false, `http://127.0.0.1:${await freePort()}`));
  await deliver(program);
  await waitFor(() => program.output().includes("can't export traces"));
  await deliver(program);
  const began = performance.now();
  expect(await program.end('SIGTERM')).toBe(0);
  expect(performance.now() - began).toBeLessThan(8_000);
  // Ingest and the two lanes export on their own.
  expect(program.output().split("can't export traces").length - 1).toBeLessThanOrEqual(3);
});
