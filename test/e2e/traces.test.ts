import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { createTestDatabase } from '../support/database.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function start(usesRedis: boolean, endpoint: string): Promise<Program> {
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const directory = await temporaryDirectory();
  cleanUps.push(() => rm(directory, { recursive: true, force: true }));
  const program = await startProgram({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
  });
  cleanUps.push(() => program.end('SIGKILL'));
  return program;
}

async function deliver(program: Program): Promise<string> {
  const response = await fetch(`${program.url}/ingest/default/AUDIT_LOG_ALL`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}` },
    body: '[{"id":1}]',
  });
  expect(response.status).toBe(200);
  return response.headers.get('x-request-id') ?? '';
}

describe.each(BACKENDS)('traces, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)('follow one delivery from its receipt through the queue to its rows', async () => {
    const receiver = await startOtlpReceiver();
    cleanUps.push(() => receiver.close());
    const program = await start(usesRedis, receiver.endpoint);
    const deliveryId = await deliver(program);
    // The span that ends last: a job is done a little after its rows are stored.
    await waitFor(() => receiver.spans.some(({ name }) => name === 'process deliveries'));
    await program.end('SIGTERM');

    const names = [
      'receive AUDIT_LOG_ALL',
      'commit batch',
      'add deliveries.batch',
      'process deliveries',
      'store batch',
    ];
    const chain = names.flatMap((name) => receiver.spans.filter((span) => span.name === name));
    expect(chain.map(({ name }) => name)).toEqual(names);
    expect(new Set(chain.map(({ traceId }) => traceId)).size).toBe(1);
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
    const roots = receiver.spans.filter(({ parentSpanId }) => parentSpanId === '');
    expect(roots.map(({ name }) => name)).toEqual(['receive AUDIT_LOG_ALL']);
  });

  it.skipIf(!available)('link the traces of the deliveries that were written together', async () => {
    const receiver = await startOtlpReceiver();
    cleanUps.push(() => receiver.close());
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
