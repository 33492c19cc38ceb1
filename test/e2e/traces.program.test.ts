import { rm } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { freePort } from '../support/free-port.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { createTestDatabase } from '../support/database.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { postDelivery, SECRET, startProgram, temporaryDirectory, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

async function start(usesRedis: boolean, endpoint: string): Promise<Program> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const directory = await temporaryDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const program = await startProgram({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
  });
  onTestFinished(async () => void (await program.end('SIGKILL')));
  return program;
}

const Receipt = z.looseObject({ delivery_id: z.string(), durability: z.string() });

async function deliver(program: Program): Promise<z.infer<typeof Receipt>> {
  const response = await postDelivery(program, 'AUDIT_LOG_ALL', '[{"id":1}]');
  expect(response.status).toBe(200);
  return Receipt.parse(await response.json());
}

describe.each(BACKENDS)('traces, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)('follow one delivery from its receipt through the queue to its rows', async () => {
    const receiver = await startOtlpReceiver();
    onTestFinished(() => receiver.close());
    const program = await start(usesRedis, receiver.endpoint);
    // The first delivery of a process goes to the spool if the queue's first answer takes too long.
    const deliveryId = await waitFor(async () => {
      const receipt = await deliver(program);
      return receipt.durability === 'queued' ? receipt.delivery_id : undefined;
    });
    const spansOfTrace = () => {
      const receipt = receiver.spans.find(
        ({ name, attributes }) =>
          name === 'receive AUDIT_LOG_ALL' && attributes['xiq_sink.delivery_id'] === deliveryId,
      );
      return receiver.spans.filter(({ traceId }) => traceId === receipt?.traceId);
    };
    // The span that ends last: a job is done a little after its rows are stored.
    await waitFor(() => spansOfTrace().some(({ name }) => name === 'process deliveries'));
    await program.end('SIGTERM');

    const names = [
      'receive AUDIT_LOG_ALL',
      'commit batch',
      'add deliveries.batch',
      'process deliveries',
      'store batch',
    ];
    const spans = spansOfTrace();
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
    expect(chain[4]?.attributes).toMatchObject({ 'xiq_sink.delivery_id': deliveryId });
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
    expect(roots.map(({ name }) => name)).toEqual(['receive AUDIT_LOG_ALL']);
  });

  it.skipIf(!available)('link the traces of the deliveries that were written together', async () => {
    const receiver = await startOtlpReceiver();
    onTestFinished(() => receiver.close());
    const program = await start(usesRedis, receiver.endpoint);
    await deliver(program);
    await Promise.all(Array.from({ length: 60 }, () => deliver(program)));
    await program.end('SIGTERM');

    const receipts = receiver.spans.filter(({ name }) => name === 'receive AUDIT_LOG_ALL');
    const commits = receiver.spans.filter(({ name }) => name === 'commit batch');
    expect(receipts).toHaveLength(61);
    expect(commits.length).toBeLessThan(61);
    const sizes = commits.map(({ attributes }) => Number(attributes['messaging.batch.message_count']));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(61);
    expect(commits.map(({ links }) => links.length + 1)).toEqual(sizes);
    const reached = new Set(commits.flatMap(({ traceId, links }) => [traceId, ...links]));
    expect(receipts.filter(({ traceId }) => !reached.has(traceId))).toEqual([]);
  });
});

it('cost nothing but a log line of each thread when nobody takes them', async () => {
  const program = await start(false, `http://127.0.0.1:${await freePort()}`);
  await deliver(program);
  await waitFor(() => program.output().includes("can't export traces"));
  await deliver(program);
  const began = performance.now();
  expect(await program.end('SIGTERM')).toBe(0);
  expect(performance.now() - began).toBeLessThan(8_000);
  // Ingest and the two lanes export on their own.
  expect(program.output().split("can't export traces").length - 1).toBeLessThanOrEqual(3);
});
