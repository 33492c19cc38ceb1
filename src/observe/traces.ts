import type { Attributes, Span } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { describeError } from '../lib/errors.ts';
import { failuresIn } from '../lib/failure-log.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';

export type Traces = Awaited<ReturnType<typeof startTraces>>;

export interface TracesOptions {
  /** The OTLP endpoint; traces go to `/v1/traces` there. */
  readonly endpoint: string;
  readonly serviceName: string;
  /** The share of traces that is recorded, 0 to 1. */
  readonly ratio: number;
  readonly version: string;
  readonly role: string;
  readonly logger: Logger;
}

/** Spans are collected for this long before they are sent. */
const EXPORT_DELAY_MS = 1_000;

/** How long one export may take including retries, and the last one at shutdown. */
const EXPORT_TIMEOUT_MS = 3_000;
const STOP_TIMEOUT_MS = 2_000;

/** Loads OpenTelemetry, registers it for this process, and exports by OTLP over HTTP (protobuf). */
export async function startTraces(options: TracesOptions) {
  const { version, logger } = options;
  const [{ BullMQOtel }, api] = await Promise.all([import('bullmq-otel'), import('@opentelemetry/api')]);
  const shutDown = await registerTracing(options);
  const tracer = api.trace.getTracer('xiq-sink', version);
  /** The span of each delivery in progress: a batch belongs to many requests, and any of their spans may be active. */
  const spanOf = new WeakMap<object, Span>();

  async function within<T>(span: Span, work: () => Promise<T>): Promise<T> {
    try {
      return await api.context.with(api.trace.setSpan(api.context.active(), span), work);
    } catch (error) {
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: describeError(error) });
      throw error;
    } finally {
      span.end();
    }
  }

  return {
    telemetry: new BullMQOtel({ tracerName: 'bullmq' }),
    /** Runs the enqueueing of a delivery in a span that starts at the time of receipt. */
    receive<T>(delivery: ReadDelivery, work: () => Promise<T>): Promise<T> {
      const { messageType, receivedAt } = delivery;
      const span = tracer.startSpan(
        `receive ${messageType}`,
        { kind: api.SpanKind.SERVER, startTime: receivedAt, attributes: deliveryAttributes(delivery) },
        api.ROOT_CONTEXT,
      );
      spanOf.set(delivery, span);
      return within(span, work);
    },
    /** Runs the commit of a batch in the trace of the first recorded delivery, with links to the traces of the others. */
    commit<T>(deliveries: readonly ReadDelivery[], work: () => Promise<T>): Promise<T> {
      const spans = deliveries.flatMap((delivery) => spanOf.get(delivery) ?? []);
      const [parent = spans[0], ...others] = spans.filter((span) => span.isRecording());
      const links = others.map((span) => ({ context: span.spanContext() }));
      const options = { attributes: batchAttributes(deliveries), links };
      const context = parent === undefined ? api.ROOT_CONTEXT : api.trace.setSpan(api.ROOT_CONTEXT, parent);
      return within(tracer.startSpan('commit batch', options, context), work);
    },
    /** Stores a batch within its own span. */
    store: <T>(deliveries: readonly ReadDelivery[], work: () => Promise<T>) =>
      within(tracer.startSpan('store batch', { attributes: batchAttributes(deliveries) }), work),
    /** Sends the remaining spans. Spans that can't be sent in time are dropped. */
    async stop(): Promise<void> {
      const stopped = shutDown().catch((error: unknown) => {
        logger.warn(`can't export the last traces: ${describeError(error)}`);
      });
      await pTimeout(stopped, { milliseconds: STOP_TIMEOUT_MS, message: false });
    },
  };
}

const deliveryAttributes = (delivery: ReadDelivery): Attributes => ({
  'xiq_sink.delivery_id': delivery.deliveryId,
  'xiq_sink.source': delivery.source,
  'xiq_sink.message_type': delivery.messageType,
  'xiq_sink.records': delivery.recordCount,
  'http.request.body.size': delivery.bodyBytes,
});

/** Only the first of several deliveries is named: the traces of the others are linked. */
const batchAttributes = (deliveries: readonly ReadDelivery[]): Attributes => ({
  'messaging.batch.message_count': deliveries.length,
  'xiq_sink.delivery_id': deliveries[0]?.deliveryId,
});

/**
 * Registers provider, propagator and context manager for this process. Returns the function that sends the remaining spans
 * and unregisters all three.
 */
async function registerTracing(options: TracesOptions): Promise<() => Promise<void>> {
  const [api, core, sdk, { AsyncLocalStorageContextManager }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  // An exporter that can't be reached costs one log line now and then, nothing else.
  core.setGlobalErrorHandler((error) =>
    failuresIn(options.logger).report(undefined, error, "can't export traces"),
  );
  const exporter = new OTLPTraceExporter({
    url: `${options.endpoint}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new sdk.TracerProvider({
    resource: await describeProcess(options),
    sampler: new sdk.ParentBasedSampler({ root: await createRootSampler(options.ratio) }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: EXPORT_DELAY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  api.trace.setGlobalTracerProvider(provider);
  return async () => {
    await provider.shutdown();
    api.trace.disable();
    api.propagation.disable();
    api.context.disable();
  };
}

/** The attributes that all spans of this process share; OTEL_RESOURCE_ATTRIBUTES may add to them. */
async function describeProcess({ serviceName, version, role }: TracesOptions) {
  const resources = await import('@opentelemetry/resources');
  const { detectResources, envDetector, hostDetector } = resources;
  return resources
    .defaultResource()
    .merge(detectResources({ detectors: [hostDetector, envDetector] }))
    .merge(
      resources.resourceFromAttributes({
        'service.name': serviceName,
        'service.version': version,
        'xiq_sink.role': role,
        'process.pid': process.pid,
      }),
    );
}

/** BullMQ starts a trace each time it looks for a job or renews a lock. These belong to no delivery, so drop them. */
async function createRootSampler(ratio: number): Promise<Sampler> {
  const { SamplingDecision, TraceIdRatioBasedSampler } = await import('@opentelemetry/sdk-trace');
  const { SpanKind } = await import('@opentelemetry/api');
  const byRatio = new TraceIdRatioBasedSampler(ratio);
  return {
    shouldSample: (context, traceId, _name, kind) =>
      kind === SpanKind.INTERNAL
        ? { decision: SamplingDecision.NOT_RECORD }
        : byRatio.shouldSample(context, traceId),
    toString: () => `deliveries(${byRatio.toString()})`,
  };
}
