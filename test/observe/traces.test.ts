import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { createDeliveryObserver } from '../../src/observe/delivery-observer.ts';
import { createProcessGauge } from '../../src/observe/process-figures.ts';
import { createRefusedCounter } from '../../src/observe/refused-deliveries.ts';
import { StoringProgress } from '../../src/observe/storing-progress.ts';
import { startTraces } from '../../src/observe/traces.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';

const PARTS = { receives: true, stores: true, queueState: () => undefined };

/** What a process observes, with traces of this share of the deliveries, and the spans that were exported when it stops. */
async function startObserver(ratio: number) {
  const receiver = await startOtlpReceiver();
  const gauge = createProcessGauge(PARTS);
  onTestFinished(async () => {
    gauge.close();
    await receiver.close();
  });
  const { endpoint, spans } = receiver;
  const logger = pino({ level: 'silent' });
  const traces = await startTraces({
    endpoint,
    serviceName: 'sink',
    ratio,
    version: '1',
    role: 'all',
    logger,
  });
  const progress = new StoringProgress();
  const deferred = createRefusedCounter();
  const none = { ingest: undefined, countStored: undefined };
  const observer = createDeliveryObserver({ traces, ...none, gauge, deferred, progress });
  return { observer, progress, spans, stop: () => traces.stop() };
}

const delivery = (source: string) =>
  queuedDelivery('AUDIT_LOG_ALL', [auditRecord(), auditRecord()], {
    source,
    receivedAt: Date.now() - 60_000,
  });

it('a delivery has a trace of its own, and the commit of several is in that of the first, linked to the others', async () => {
  const { observer, spans, stop } = await startObserver(1);
  const deliveries = ['a', 'b', 'c'].map(delivery);
  const { promise: committed, resolve: commit } = Promise.withResolvers<string>();
  const receiving = deliveries.map((one) => observer.enqueue(one, () => committed));
  expect(await observer.commit(deliveries, async () => 'durable')).toBe('durable');
  commit('queued');
  expect(await Promise.all(receiving)).toEqual(['queued', 'queued', 'queued']);
  const failed = observer.enqueue(delivery('d'), () => Promise.reject(new Error('away')));
  await expect(failed).rejects.toThrow('away');
  await stop();
  const received = spans.filter(({ name }) => name === 'receive AUDIT_LOG_ALL');
  const sources = received.map(({ attributes }) => attributes['xiq_sink.source']);
  expect(new Set(sources)).toEqual(new Set(['a', 'b', 'c', 'd']));
  expect(new Set(received.map(({ traceId }) => traceId)).size).toBe(4);
  const traceOf = (source: string) =>
    received.find(({ attributes }) => attributes['xiq_sink.source'] === source);
  const [first] = deliveries;
  expect(traceOf('a')).toMatchObject({
    service: 'sink',
    parentSpanId: '',
    attributes: {
      'xiq_sink.delivery_id': first?.deliveryId,
      'xiq_sink.message_type': 'AUDIT_LOG_ALL',
      'xiq_sink.records': 2,
      'http.request.body.size': first?.bodyBytes,
    },
  });
  expect(spans.filter(({ name }) => name === 'commit batch')).toMatchObject([
    {
      traceId: traceOf('a')?.traceId,
      parentSpanId: traceOf('a')?.spanId,
      links: ['b', 'c'].map((source) => traceOf(source)?.traceId),
      attributes: { 'messaging.batch.message_count': 3, 'xiq_sink.delivery_id': first?.deliveryId },
    },
  ]);
});

it('work that belongs to no delivery has no trace, nor has a delivery that is not among the sampled ones', async () => {
  const all = await startObserver(1);
  expect(await all.observer.store('ordinary', [delivery('a')], async () => 'stored')).toBe('stored');
  await all.stop();
  const none = await startObserver(0);
  const one = delivery('a');
  await none.observer.enqueue(one, () => none.observer.commit([one], async () => undefined));
  await none.stop();
  expect([...all.spans, ...none.spans]).toEqual([]);
});

it('readiness follows the storing of ordinary deliveries alone, however it ends', async () => {
  const { observer, progress, stop } = await startObserver(0);
  const during = async (lane: 'ordinary' | 'bulk') =>
    observer.store(lane, [], async () => {
      observer.waiting(lane, 'the database is away');
      return progress.state();
    });
  expect(await during('bulk')).toMatchObject({ batches: 0, waitingSince: undefined, failure: undefined });
  expect(await during('ordinary')).toMatchObject({ batches: 1, failure: 'the database is away' });
  observer.stored('bulk', [], 1);
  await expect(observer.store('ordinary', [], () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  const before = { batches: 0, waitingSince: undefined, failure: undefined, lastStoredAt: undefined };
  expect(progress.state()).toMatchObject(before);
  observer.stored('ordinary', [], 1);
  observer.tooNew(7);
  expect(progress.state()).toMatchObject({ lastStoredAt: expect.any(Number) as unknown, newerVersion: 7 });
  await stop();
});
