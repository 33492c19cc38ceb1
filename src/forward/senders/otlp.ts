import { SeverityNumber } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { severityOfEvent } from '../formats/facts.ts';
import type { FormatName } from '../formats/formats.ts';
import { BatchRefusedError, type Message, type Refusal, type Sender } from '../sender.ts';
import { describeAnswer, failureOf, isGood, jsonOrNothing } from './http-answer.ts';
import { createHttpEndpoint, type Answer } from './http-endpoint.ts';
import type { OtlpOptions } from './otlp-options.ts';

const { INFO, WARN, ERROR, ERROR2 } = SeverityNumber;

/** The severities of CEF, 0 to 10, as OpenTelemetry maps those of syslog. */
const SEVERITY_OF_CEF = [INFO, INFO, INFO, INFO, WARN, WARN, WARN, ERROR, ERROR, ERROR2, ERROR2];

const PROTOBUF = 'application/x-protobuf';
const SCOPE = { name: 'xiq-sink' };

const Attribute = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
const Written = z.object({
  eventName: z.string(),
  body: z.string(),
  attributes: z.record(z.string(), Attribute),
});

/** An answer in JSON, where a 64-bit number may be a text. */
const JsonAnswer = z.object({
  partialSuccess: z
    .object({ rejectedLogRecords: z.coerce.number().default(0), errorMessage: z.string().default('') })
    .prefault({}),
});

const compress = promisify(gzip);

/**
 * Sends log records by OTLP/HTTP in protobuf, gzipped. Text in another format than `otlp` is the body of its record. An
 * answer says how many records it rejects, but not which: if it is a part, the batch is refused, so that it is divided.
 */
export function createOtlpSender(options: OtlpOptions, format: FormatName | undefined): Sender {
  const secrets = createSecrets(Object.values(options.headers));
  const endpoint = createHttpEndpoint({ type: 'otlp', url: options.url, secrets, http: options });
  const headers = { ...options.headers, 'content-type': PROTOBUF, 'content-encoding': 'gzip' };
  const resource = resourceFromAttributes({ 'service.name': options.service_name });

  function recordOf({ event, text }: Message) {
    const written =
      format === 'otlp'
        ? Written.parse(JSON.parse(text))
        : { body: text, attributes: { 'log.record.uid': event.eventId } };
    return {
      ...written,
      hrTime: millisToHrTime(Date.parse(event.occurredAt)),
      hrTimeObserved: millisToHrTime(Date.parse(event.receivedAt)),
      severityNumber: SEVERITY_OF_CEF[severityOfEvent(event)] ?? INFO,
      droppedAttributesCount: 0,
      resource,
      instrumentationScope: SCOPE,
    };
  }

  /** How many records an answer rejects, and why. Throws OutageError if it is no receipt. */
  function readReceipt(answer: Answer): { readonly rejected: number; readonly reason: string } {
    const type = answer.headers['content-type'] ?? '';
    try {
      const { partialSuccess } =
        answer.bytes.length === 0
          ? {}
          : type.startsWith(PROTOBUF)
            ? ProtobufLogsSerializer.deserializeResponse(answer.bytes)
            : JsonAnswer.parse(jsonOrNothing(answer.text));
      const { rejectedLogRecords: rejected = 0, errorMessage: reason = '' } = partialSuccess ?? {};
      return {
        rejected,
        reason: `rejected by ${endpoint.name}: ${secrets.hide(reason) || 'no reason given'}`,
      };
    } catch (cause) {
      throw new OutageError(
        `unexpected answer for this type of destination: ${describeAnswer(answer, endpoint)}`,
        {
          cause,
        },
      );
    }
  }

  return {
    async send(batch): Promise<readonly Refusal[]> {
      const request = ProtobufLogsSerializer.serializeRequest(batch.map(recordOf)) ?? Buffer.alloc(0);
      const answer = await endpoint.post('/v1/logs', headers, await compress(request, { level: 1 }));
      if (!isGood(answer)) throw failureOf(answer, endpoint);
      const { rejected, reason } = readReceipt(answer);
      if (rejected === 0) return [];
      if (rejected < batch.length) {
        throw new BatchRefusedError(`${rejected} of ${batch.length} records were ${reason}`);
      }
      return batch.map((_message, index) => ({ index, reason }));
    },
    close: endpoint.close,
  };
}
