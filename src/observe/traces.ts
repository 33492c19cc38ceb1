import type { Attributes, Span } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import type { Telemetry } from 'bullmq';
import type { Logger } from 'pino';
import { describeError } from '../errors.ts';

/** What a span tells of a delivery. */
interface TracedDelivery {
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
  readonly recordCount: number;
  readonly bodyBytes: number;
}

/** Traces of deliveries, from their receipt to their rows. */
export interface Traces {
  /** For BullMQ's queue and worker. */
  readonly telemetry: Telemetry;
  /** Runs the handing over of a delivery in a span that began when it was received. */
  receive<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T>;
  /** Runs the commit of a batch in the trace of the first delivery that is recorded, with links to those of the others. */
  commit<T>(deliveries: readonly TracedDelivery[], work: () => Promise<T>): Promise<T>;
  /** Runs the storing of a batch in a span of its own. */
  store<T>(deliveries: readonly TracedDelivery[], work: () => Promise<T>): Promise<T>;
  /** Sends what is left; what cannot be sent in time is dropped. */
  stop(): Promise<void>;
}

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

/** Spans are gathered for so long before they are sent. */
const EXPORT_DELAY_MS = 1_000;

/** How long one export may take with its repetitions, and the last one at a shut-down. */
const EXPORT_TIMEOUT_MS = 3_000;
const STOP_TIMEOUT_MS = 2_000;

/** Exports that fail are logged once in this time. */
const REPEAT_AFTER_MS = 60_000;

/** Loads OpenTelemetry, registers it for this process, and exports by OTLP over HTTP (protobuf). */
export async function startTraces(options: TracesOptions): Promise<Traces> {
  const { version, logger } = options;
  const [{ BullMQOtel }, api] = await Promise.all([import('bullmq-otel'), import('@opentelemetry/api')]);
  const shutDown = await registerTracing(options);
  const tracer = api.trace.getTracer('xiq-sink', version);
  /** The span of each delivery in hand: a batch is committed for many requests, and the active span is that of any. */
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
    receive(delivery, work) {
      const { messageType, receivedAt } = delivery;
      const span = tracer.startSpan(
        `receive ${messageType}`,
        { kind: api.SpanKind.SERVER, startTime: receivedAt, attributes: deliveryAttributes(delivery) },
        api.ROOT_CONTEXT,
      );
      spanOf.set(delivery, span);
      return within(span, work);
    },
    commit(deliveries, work) {
      const spans = deliveries.flatMap((delivery) => spanOf.get(delivery) ?? []);
      const [parent = spans[0], ...others] = spans.filter((span) => span.isRecording());
      const links = others.map((span) => ({ context: span.spanContext() }));
      const options = { attributes: batchAttributes(deliveries), links };
      const context = parent === undefined ? api.ROOT_CONTEXT : api.trace.setSpan(api.ROOT_CONTEXT, parent);
      return within(tracer.startSpan('commit batch', options, context), work);
    },
    store: (deliveries, work) =>
      within(tracer.startSpan('store batch', { attributes: batchAttributes(deliveries) }), work),
    async stop() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const patience = setTimeout(resolve, STOP_TIMEOUT_MS);
      await Promise.race([
        shutDown().catch((error: unknown) => {
          logger.warn(`the last traces were not sent: ${describeError(error)}`);
        }),
        late,
      ]);
      clearTimeout(patience);
    },
  };
}

const deliveryAttributes = (delivery: TracedDelivery): Attributes => ({
  'xiq_sink.delivery_id': delivery.deliveryId,
  'xiq_sink.source': delivery.source,
  'xiq_sink.message_type': delivery.messageType,
  'xiq_sink.records': delivery.recordCount,
  'http.request.body.size': delivery.bodyBytes,
});

/** Of several deliveries only the first is named: the trace of each other one is linked. */
const batchAttributes = (deliveries: readonly TracedDelivery[]): Attributes => ({
  'messaging.batch.message_count': deliveries.length,
  'xiq_sink.delivery_id': deliveries[0]?.deliveryId,
});

/** Registers provider, propagator and context manager for this process. Gives what sends the rest and ends them. */
async function registerTracing(options: TracesOptions): Promise<() => Promise<void>> {
  const [api, core, sdk, { AsyncLocalStorageContextManager }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  core.setGlobalErrorHandler(createFailureLog(options.logger));
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

/** What stands over all spans of this process; OTEL_RESOURCE_ATTRIBUTES may add to it. */
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

/** BullMQ makes a trace of every time that it looks for a job or renews a lock: these tell of no delivery. */
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

/** An exporter that is away costs a log line now and then, nothing else. */
function createFailureLog(logger: Logger): (error: unknown) => void {
  let loggedAt = -Infinity;
  return (error) => {
    const now = performance.now();
    if (now - loggedAt < REPEAT_AFTER_MS) return;
    loggedAt = now;
    logger.warn(`traces were not exported: ${describeError(error)}`);
  };
}
