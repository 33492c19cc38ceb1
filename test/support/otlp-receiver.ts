import { standIn } from './stand-in.ts';

/** A span as it was exported. */
interface ExportedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Ids of the traces that it links. */
  readonly links: readonly string[];
}

/** Starts a receiver of OpenTelemetry traces by OTLP over HTTP, in protobuf, on a free port of this machine. */
export async function startOtlpReceiver() {
  const spans: ExportedSpan[] = [];
  const { url, [Symbol.asyncDispose]: close } = await standIn((request) => {
    const headers = { 'content-type': 'application/x-protobuf' };
    if (request.url !== '/v1/traces') return { status: 404, headers };
    if (request.headers['content-type'] === headers['content-type']) spans.push(...readExport(request.bytes));
    return { headers };
  });
  return { endpoint: url, spans, close };
}

/** A log record as it was exported; its times are nanoseconds. */
interface ExportedRecord {
  readonly service: string;
  readonly time: bigint;
  readonly observed: bigint;
  readonly severity: number;
  readonly eventName: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** opentelemetry-proto: ExportLogsServiceRequest, ResourceLogs, ScopeLogs, LogRecord. */
export function readLogs(request: Buffer): ExportedRecord[] {
  return all(request, 1).flatMap(({ bytes: resourceLogs }) => {
    const service = String(readAttributes(bytesOf(resourceLogs, 1), 1)['service.name']);
    return all(resourceLogs, 2).flatMap(({ bytes: scopeLogs }) =>
      all(scopeLogs, 2).map(({ bytes: record }) => ({
        service,
        time: bytesOf(record, 1).readBigUInt64LE(),
        observed: bytesOf(record, 11).readBigUInt64LE(),
        severity: all(record, 2)[0]?.value ?? 0,
        eventName: bytesOf(record, 12).toString(),
        body: bytesOf(bytesOf(record, 5), 1).toString(),
        attributes: readAttributes(record, 6),
      })),
    );
  });
}

interface Field {
  readonly number: number;
  readonly bytes: Buffer;
  readonly value: number;
}

/** The fields of a protobuf message (protobuf.dev, "Encoding"). */
function readMessage(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message.readUInt8(at);
      at += 1;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (wireType === 0) fields.push({ number, bytes: Buffer.alloc(0), value: varint() });
    else {
      const length = wireType === 1 ? 8 : wireType === 5 ? 4 : varint();
      fields.push({ number, bytes: message.subarray(at, at + length), value: 0 });
      at += length;
    }
  }
  return fields;
}

const all = (message: Buffer, number: number) =>
  readMessage(message).filter((field) => field.number === number);

const bytesOf = (message: Buffer, number: number) => all(message, number)[0]?.bytes ?? Buffer.alloc(0);

/** opentelemetry-proto: ExportTraceServiceRequest, ResourceSpans, ScopeSpans. */
function readExport(request: Buffer): ExportedSpan[] {
  return all(request, 1).flatMap(({ bytes: resourceSpans }) => {
    const service = String(readAttributes(bytesOf(resourceSpans, 1), 1)['service.name']);
    return all(resourceSpans, 2).flatMap(({ bytes: scopeSpans }) =>
      all(scopeSpans, 2).map(({ bytes }) => readSpan(service, bytes)),
    );
  });
}

const readSpan = (service: string, span: Buffer): ExportedSpan => ({
  service,
  traceId: bytesOf(span, 1).toString('hex'),
  spanId: bytesOf(span, 2).toString('hex'),
  parentSpanId: bytesOf(span, 4).toString('hex'),
  name: bytesOf(span, 5).toString(),
  attributes: readAttributes(span, 9),
  links: all(span, 13).map(({ bytes }) => bytesOf(bytes, 1).toString('hex')),
});

/** KeyValue and AnyValue: texts and whole numbers. */
function readAttributes(message: Buffer, number: number): Record<string, string | number> {
  return Object.fromEntries(
    all(message, number).map(({ bytes }) => {
      const [value] = readMessage(bytesOf(bytes, 2));
      return [
        bytesOf(bytes, 1).toString(),
        value?.number === 1 ? value.bytes.toString() : (value?.value ?? 0),
      ];
    }),
  );
}
